/**
 * Takes cells out of the status of one PodProtector: those that the annotation remove-cell-once names
 * (docs/generator.md#remove-cells), and those that the caller does not want any more. Works on hand-made and dangling
 * protectors too.
 */
import { annotations } from "../../api/v1alpha1/names.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { summarize } from "../../accounting/count/summary.ts";
import { isKubeError, KubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive, swapStatusAndCheck } from "../../kube/pod-protectors.ts";
import { podProtectors, type StoredProtector } from "../../kube/resources.ts";
import { assertNever } from "../../util/assert.ts";

/**
 * Removes the cells that `isUnwanted` says, of the object as it is now, and those of the annotation, which goes then.
 * Unknown names are ignored. Returns the cells that were removed. Rejects with a KubeError.
 */
export async function removeCells(
  core: KubeClient,
  { protector }: StoredProtector,
  isUnwanted: (live: StoredProtector, cell: CellStatus) => boolean,
  signal: AbortSignal,
): Promise<readonly CellStatus[]> {
  // Not from the cache: one that lags behind the writers of the status would only meet conflicts.
  const live = presentOrThrow(await readProtectorLive(core, protector.metadata, { signal }));
  if (live === undefined) return [];
  const list = live.protector.metadata.annotations?.[annotations.removeCellOnce];
  const named = new Set(list?.split(",").map((cell) => cell.trim()));
  const removed = (live.protector.status?.cells ?? []).filter(
    (cell) => named.has(cell.cellID) || isUnwanted(live, cell),
  );
  const written = await withoutCells(core, live, removed, signal);
  if (written === undefined) return [];
  if (list !== undefined) await removeAnnotation(core, written, signal);
  return removed;
}

/** The object as stored after the removal; undefined when it is gone. */
async function withoutCells(
  core: KubeClient,
  stored: StoredProtector,
  removed: readonly CellStatus[],
  signal: AbortSignal,
): Promise<StoredProtector | undefined> {
  if (removed.length === 0) return stored;
  const { spec, status } = stored.protector;
  const cells = (status?.cells ?? []).filter((cell) => !removed.includes(cell));
  const after = { ...status, cells, summary: summarize(cells, spec) };
  const swap = await swapStatusAndCheck(core, stored, after, { signal });
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
