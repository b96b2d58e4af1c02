/** The resources that several roles use, and how a PodProtector is stored by informers. */
import { objectKey } from "../api/object-key.ts";
import { parseResourceVersion } from "../api/resource-version.ts";
import { decodePodProtector, withTypeMeta } from "../api/v1alpha1/decode.ts";
import { apiGroup, podProtectorResource } from "../api/v1alpha1/names.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type Stored } from "./informer.ts";
import { type Resource } from "./kube-client.ts";

export const podProtectors: Resource = { group: apiGroup, version: "v1alpha1", resource: podProtectorResource };
export const pods: Resource = { group: "", version: "v1", resource: "pods" };
export const leases: Resource = { group: "coordination.k8s.io", version: "v1", resource: "leases" };
export const validatingWebhookConfigurations: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  resource: "validatingwebhookconfigurations",
};
export const namespaces: Resource = { group: "", version: "v1", resource: "namespaces" };

export const customResourceDefinitions: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
};

export interface StoredProtector extends Stored {
  readonly protector: PodProtector;
}

export type ReadProtector =
  | { readonly ok: true; readonly stored: StoredProtector }
  /** `reason` for people: why the object is invalid. */
  | { readonly ok: false; readonly reason: string };

/** Reads a PodProtector from a list, watch or answer. Never throws. */
export function readProtector(raw: unknown): ReadProtector {
  const decoded = decodePodProtector(withTypeMeta(raw));
  if (!decoded.ok) return decoded;
  const { protector } = decoded;
  const { namespace, name, uid } = protector.metadata;
  const resourceVersion = parseResourceVersion(protector.metadata.resourceVersion);
  if (resourceVersion === undefined) return { ok: false, reason: "metadata.resourceVersion: not a version" };
  return { ok: true, stored: { key: objectKey(namespace, name), uid, resourceVersion, protector } };
}
