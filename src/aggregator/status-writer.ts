/** One compare-and-swap write of a PodProtector's status, and its outcome as a value. */
import { type PodProtectorStatus } from "../api/v1alpha1/pod-protector.ts";
import { isKubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../kube/resources.ts";

export type WriteOutcome =
  | { readonly kind: "written"; readonly stored: StoredProtector }
  /**
   * Somebody else wrote first, or the answer of our own write was lost: `live` is the object as it is now, undefined
   * when it is gone.
   */
  | { readonly kind: "conflict"; readonly live: StoredProtector | undefined }
  | { readonly kind: "failed"; readonly error: unknown };

/**
 * Writes `status` if the object still has the version of `base`. Never assumes anything about a write whose answer was
 * lost.
 */
export async function writeStatus(
  client: KubeClient,
  base: StoredProtector,
  status: PodProtectorStatus,
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const { namespace, name } = base.protector.metadata;
  try {
    const answer = await client.request({
      method: "PUT",
      path: resourcePath(podProtectors, { namespace, name, subresource: "status" }),
      body: { ...base.protector, status },
      signal,
    });
    const read = readProtector(answer);
    return read.ok
      ? { kind: "written", stored: read.stored }
      : { kind: "failed", error: new Error(`unusable answer to a status write: ${read.reason}`) };
  } catch (error) {
    if (!isKubeError(error, "conflict", "network", "timeout", "notFound", "serverError"))
      return { kind: "failed", error };
    const live = await getLive(client, namespace, name, signal);
    if (live.kind === "failed") return live;
    // Nobody has written: the server is in trouble, or something else than a newer version refuses the write (an
    // admission plug-in may answer 409). That is no conflict, which would be retried at once, again and again.
    const isUnchanged = live.stored?.uid === base.uid && live.stored.resourceVersion === base.resourceVersion;
    return isUnchanged ? { kind: "failed", error } : { kind: "conflict", live: live.stored };
  }
}

/** Reads the object with resourceVersion unset, so that the answer is not older than any accepted write. */
export async function getLive(
  client: KubeClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<
  | { readonly kind: "read"; readonly stored: StoredProtector | undefined }
  | { readonly kind: "failed"; readonly error: unknown }
> {
  try {
    const read = readProtector(
      await client.request({ method: "GET", path: resourcePath(podProtectors, { namespace, name }), signal }),
    );
    return read.ok
      ? { kind: "read", stored: read.stored }
      : { kind: "failed", error: new Error(`unusable PodProtector: ${read.reason}`) };
  } catch (error) {
    return isKubeError(error, "notFound") ? { kind: "read", stored: undefined } : { kind: "failed", error };
  }
}
