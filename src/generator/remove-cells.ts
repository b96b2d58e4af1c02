/**
 * remove-cell-once (docs/generator.md#remove-cells): a person names cells that no longer exist (comma list in an
 * annotation), and the generator removes them from the status, once. This works on hand-made and dangling protectors
 * too.
 */
import { annotations } from "../api/v1alpha1/names.ts";
import { summarize } from "../accounting/count/summary.ts";
import { isKubeError, KubeError, type KubeClient, resourcePath } from "../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive, swapStatusAndCheck } from "../kube/pod-protectors.ts";
import { podProtectors, type StoredProtector } from "../kube/resources.ts";
import { assertNever } from "../util/assert.ts";

/** Removes the named cells and then the annotation. Unknown names are ignored. Rejects with a KubeError. */
export async function removeCells(
  core: KubeClient,
  { protector }: StoredProtector,
  signal: AbortSignal,
): Promise<void> {
  // Not from the cache: one that lags behind the writers of the status would only meet conflicts.
  const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
  if (live === undefined) return;
  const list = live.protector.metadata.annotations?.[annotations.removeCellOnce];
  if (list === undefined) return;
  const written = await withoutCells(core, live, new Set(list.split(",").map((cell) => cell.trim())), signal);
  if (written !== undefined) await removeAnnotation(core, written, signal);
}

/** The object as stored after the removal; undefined when it is gone. */
async function withoutCells(
  core: KubeClient,
  stored: StoredProtector,
  unwanted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<StoredProtector | undefined> {
  const { status } = stored.protector;
  const cells = status?.cells ?? [];
  const kept = cells.filter((cell) => !unwanted.has(cell.cellID));
  if (kept.length === cells.length) return stored;
  const swap = await swapStatusAndCheck(core, stored, { ...status, cells: kept, summary: summarize(kept) }, { signal });
  switch (swap.kind) {
    case "written":
      return swap.stored;
    case "conflict":
      if (swap.live === undefined) return undefined;
      throw new KubeError("conflict", "the PodProtector was changed meanwhile", { cause: swap.error });
    case "failed":
      throw swap.error;
    default:
      return assertNever(swap);
  }
}

async function removeAnnotation(core: KubeClient, stored: StoredProtector, signal: AbortSignal): Promise<void> {
  const { namespace, name } = stored.protector.metadata;
  const { uid, resourceVersion } = stored;
  try {
    await core.request({
      method: "PATCH",
      path: resourcePath(podProtectors, { namespace, name }),
      contentType: "application/merge-patch+json",
      // At the version of the list that was carried out: another one, made meanwhile, stays.
      body: { metadata: { uid, resourceVersion, annotations: { [annotations.removeCellOnce]: null } } },
      signal,
    });
  } catch (error) {
    // The protector is gone, and the annotation with it.
    if (!isKubeError(error, "notFound")) throw error;
  }
}
