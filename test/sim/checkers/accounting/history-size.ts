/**
 * An admission history stays short: beyond the threshold it is packed, and there are limits to what it holds at all
 * (docs/accounting.md#packing).
 */
import { type Bucket, type CellStatus, type PodProtectorStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { bucketKind } from "../../../../src/accounting/history/bucket.ts";
import { type HistoryLimits } from "../../../../src/accounting/history/record.ts";
import { fillOf } from "../../../../src/accounting/history/status-room.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { type Kernel } from "../../kernel/kernel.ts";

/**
 * A state of a cell that a webhook has written, and the one before; `threshold`: the greatest that it may have packed
 * by.
 */
export interface WrittenHistory {
  readonly name: string;
  readonly before: CellStatus | undefined;
  readonly cell: CellStatus;
  readonly threshold: number;
  readonly limits: HistoryLimits;
}

export function checkHistorySize(kernel: Kernel, { name, before, cell, threshold, limits }: WrittenHistory): void {
  const buckets = bucketsOf(cell);
  const singles = buckets.filter(isVersioned);
  const { deletes, evictions } = admissionsOf(buckets);
  // A pod that is evicted after its deletion was admitted counts among the evictions from then on.
  if (deletes > limits.deletesMax || deletes + evictions > limits.deletesMax + limits.evictionsMax)
    kernel.fail(`${name}: the history of ${cell.cellID} holds ${deletes} deletions and ${evictions} evictions`);
  if (buckets.length <= Math.max(1, threshold)) return;
  // Those that this write has taken out of a packed bucket stay single for now.
  const packed = new Set(bucketsOf(before).flatMap(digestsOf));
  const kept = singles.filter(({ podUID }) => podUID === undefined || !packed.has(digestOfUID(podUID)));
  // A fifth of the threshold stays; one more that there is nothing to pack with stays, too.
  if (kept.length > Math.floor(threshold / 5) + 1)
    kernel.fail(`${name}: the history of ${cell.cellID} has ${buckets.length} buckets and is not packed`);
}

/** The field that holds the first bucket of a cell, and figures of the summary that have more digits now. */
const unmeasuredBytes = 100;
/** More than a bucket takes. */
const bucketBytesMax = 400;

/** After an admission was recorded. Counts and conditions may go beyond the limit. */
export function checkStatusSize(kernel: Kernel, name: string, status: PodProtectorStatus, limits: HistoryLimits): void {
  const { bytes } = fillOf(status);
  if (bytes > limits.statusBytesMax + unmeasuredBytes)
    kernel.fail(`${name}: an admission is added to a status of ${bytes} bytes`);
}

/**
 * Takes no further admission, or may soon take none. What a write packs counts in full while it fills the status
 * (status-room.ts), so that many deletions at once find less room than their packed bucket shows afterwards.
 */
export function isStatusFull(status: PodProtectorStatus | undefined, { statusBytesMax }: HistoryLimits): boolean {
  const packed = (status?.cells ?? []).flatMap(bucketsOf).map(packedPods);
  const unpackedBytes = packed.reduce((sum, pods) => sum + pods * bucketBytesMax, 0);
  return fillOf(status).bytes + unpackedBytes + bucketBytesMax > statusBytesMax;
}

/** Takes no further deletions, or no further evictions. */
export function isHistoryFull(cell: CellStatus, { deletesMax, evictionsMax }: HistoryLimits): boolean {
  const { deletes, evictions } = admissionsOf(bucketsOf(cell));
  return deletes >= deletesMax || evictions >= evictionsMax || deletes + evictions >= deletesMax + evictionsMax;
}

function admissionsOf(buckets: readonly Bucket[]): { readonly deletes: number; readonly evictions: number } {
  const singles = buckets.filter(isVersioned).length;
  const packed = buckets.map(packedPods).filter((pods) => pods > 0);
  const deletes = packed.reduce((sum, pods) => sum + pods, singles);
  return { deletes, evictions: buckets.length - singles - packed.length };
}

function bucketsOf(cell: CellStatus | undefined): readonly Bucket[] {
  return cell?.admissionHistory?.buckets ?? [];
}

/** 0 = not a packed bucket. */
function packedPods(bucket: Bucket): number {
  return bucketKind(bucket).kind === "packed" ? (bucket.counter ?? 1) : 0;
}

function isVersioned(bucket: Bucket): boolean {
  const kind = bucketKind(bucket);
  return kind.kind === "single" && kind.version !== undefined && !kind.isEvicted;
}

function digestsOf(bucket: Bucket): readonly string[] {
  const kind = bucketKind(bucket);
  return kind.kind === "packed" ? kind.digests.list() : [];
}
