/**
 * remove-cell-once: a person names cells that no longer exist (comma list in an annotation), and the generator takes
 * them out of the status, once. Works on hand-made and dangling protectors too, because it is watched on the
 * PodProtector itself.
 */
import { annotations } from "../api/v1alpha1/names.ts";
import { summarize } from "../accounting/count/summary.ts";
import { isKubeError, KubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../kube/resources.ts";

/** Removes the named cells and then the annotation. Unknown names are ignored. Rejects with a KubeError. */
export async function removeCells(
  core: KubeClient,
  { protector }: StoredProtector,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name } = protector.metadata;
  try {
    // Read anew: a cache that lags behind the writers of the status would only meet conflicts.
    const answer = await core.request({
      method: "GET",
      path: resourcePath(podProtectors, { namespace, name }),
      signal,
    });
    await fulfil(core, read(answer), signal);
  } catch (error) {
    // The protector has gone, and the wish with it.
    if (!isKubeError(error, "notFound")) throw error;
  }
}

function read(answer: unknown): StoredProtector {
  const result = readProtector(answer);
  if (result.ok) return result.stored;
  throw new KubeError("malformed", `the PodProtector is unusable: ${result.reason}`);
}

async function fulfil(core: KubeClient, stored: StoredProtector, signal: AbortSignal): Promise<void> {
  const { protector } = stored;
  const { namespace, name } = protector.metadata;
  const wish = protector.metadata.annotations?.[annotations.removeCellOnce];
  if (wish === undefined) return;
  const unwanted = new Set(wish.split(",").map((cell) => cell.trim()));
  const cells = protector.status?.cells ?? [];
  const kept = cells.filter((cell) => !unwanted.has(cell.cellID));
  let { resourceVersion } = stored;
  if (kept.length < cells.length) {
    const answer = await core.request({
      method: "PUT",
      path: resourcePath(podProtectors, { namespace, name, subresource: "status" }),
      body: { ...protector, status: { ...protector.status, cells: kept, summary: summarize(kept) } },
      signal,
    });
    ({ resourceVersion } = read(answer));
  }
  await core.request({
    method: "PATCH",
    path: resourcePath(podProtectors, { namespace, name }),
    contentType: "application/merge-patch+json",
    // The version is that of the wish which was fulfilled: another one, made meanwhile, stays.
    body: { metadata: { uid: stored.uid, resourceVersion, annotations: { [annotations.removeCellOnce]: null } } },
    signal,
  });
}
