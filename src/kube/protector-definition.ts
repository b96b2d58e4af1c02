/**
 * The CustomResourceDefinition of PodProtectors. Deleting it deletes them all, with ordinary DELETED events, so whoever
 * believes such an event looks here first (docs/generator.md#when-a-podprotector-is-gone).
 */
import { fieldsOf } from "../api/json.ts";
import { type V1CustomResourceDefinition, type V1ObjectMeta } from "../api/models.ts";
import { apiGroup, podProtectorResource } from "../api/v1alpha1/names.ts";
import { asKubeError, type KubeClient, KubeError, resourcePath } from "./kube-client.ts";
import { type RequestLimits } from "./pod-protectors.ts";
import { customResourceDefinitions } from "./resources.ts";

export const definitionName = `${podProtectorResource}.${apiGroup}`;

export type ReadDefinition =
  | { readonly kind: "there"; readonly uid: string; readonly isTerminating: boolean }
  /** The API server answers 404. */
  | { readonly kind: "gone" }
  /** The right to read it is missing. */
  | { readonly kind: "forbidden"; readonly error: KubeError }
  | { readonly kind: "failed"; readonly error: KubeError };

/** Reads the definition live. Rejects only for programmer errors. */
export async function readDefinition(core: KubeClient, limits: RequestLimits): Promise<ReadDefinition> {
  const path = resourcePath(customResourceDefinitions, { name: definitionName });
  let answer: unknown;
  try {
    answer = await core.request({ method: "GET", path, ...limits });
  } catch (thrown) {
    const error = asKubeError(thrown);
    // A 404 without a Status is the page of a proxy that has no server, and says nothing.
    if (error.kind === "notFound" && error.status !== undefined) return { kind: "gone" };
    return { kind: error.kind === "forbidden" ? "forbidden" : "failed", error };
  }
  const { uid, deletionTimestamp } = fieldsOf<V1ObjectMeta>(fieldsOf<V1CustomResourceDefinition>(answer).metadata);
  if (typeof uid === "string") return { kind: "there", uid, isTerminating: deletionTimestamp !== undefined };
  return { kind: "failed", error: new KubeError("malformed", `GET ${path}: the answer has no UID`) };
}
