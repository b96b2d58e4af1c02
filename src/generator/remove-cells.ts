/**
 * remove-cell-once: a person names cells that no longer exist (comma list in an annotation), and the generator takes them out of the
 * status, once. Works on hand-made and dangling protectors too, because it is watched on the PodProtector itself.
 */
import { annotations } from "../api/v1alpha1/names.ts";
import { summarize } from "../core/summary.ts";
import { type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { podProtectors, type StoredProtector } from "../kube/resources.ts";

/** Removes the named cells and then the annotation. Unknown names are ignored. Rejects with a KubeError. */
export async function removeCells(core: KubeClient, stored: StoredProtector, signal: AbortSignal): Promise<void> {
  const { protector } = stored;
  const { namespace, name } = protector.metadata;
  const wish = protector.metadata.annotations?.[annotations.removeCellOnce];
  if (wish === undefined) return;
  const unwanted = new Set(wish.split(",").map((cell) => cell.trim()));
  const cells = protector.status?.cells ?? [];
  const kept = cells.filter((cell) => !unwanted.has(cell.cellID));
  if (kept.length < cells.length) {
    await core.request({
      method: "PUT",
      path: resourcePath(podProtectors, { namespace, name, subresource: "status" }),
      body: { ...protector, status: { ...protector.status, cells: kept, summary: summarize(kept) } },
      signal,
    });
  }
  await core.request({
    method: "PATCH",
    path: resourcePath(podProtectors, { namespace, name }),
    contentType: "application/merge-patch+json",
    body: { metadata: { uid: stored.uid, annotations: { [annotations.removeCellOnce]: null } } },
    signal,
  });
}
