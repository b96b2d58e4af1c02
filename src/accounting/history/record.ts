/**
 * Records an admission in a cell's buckets (docs/accounting.md#what-is-recorded). Invariants:
 * - A pod UID holds at most one bucket of the cell. A repeated review refreshes it; a packed pod becomes single again.
 * - The version of a bucket never goes down, and what ties it to a version never grows stronger (`Tie`).
 */
import { formatMicroTime } from "../../api/micro-time.ts";
import { type PodRecord } from "../../api/pod.ts";
import { newerResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { bucketKind, totalWeight } from "./bucket.ts";
import { withoutDigests } from "./compaction.ts";
import { statusBytesMax } from "./status-room.ts";
import { digestOfUID } from "./uid-digest.ts";

/** How much is recorded. */
export interface HistoryLimits {
  /** Most DELETEs in the history of one cell, packed and single. */
  readonly deletesMax: number;
  /** The same of evictions. */
  readonly evictionsMax: number;
  /** Bytes of the whole status beyond which nothing is added (status-room.ts). */
  readonly statusBytesMax: number;
}

/**
 * 2,000 digests are 21 kB of status, measured at 50 writes/s (docs/accounting.md#packing). Evictions cannot be packed,
 * and 700 single buckets already limit a status to 24 writes/s. A drain evicts one node after the other, 110 pods by
 * Kubernetes' default.
 */
export const historyLimits: HistoryLimits = { deletesMax: 2000, evictionsMax: 700, statusBytesMax };

/** A deletion (DELETE pods) or an eviction (CREATE pods/eviction) of one pod. */
export interface PodDeletion {
  readonly operation: "delete" | "evict";
  readonly cellID: string;
  readonly pod: PodRecord;
  /** An eviction that names the very version of `pod` as its precondition. */
  readonly namesVersion?: boolean | undefined;
}

/**
 * What ties all admissions of a bucket to its version, the strongest first: a DELETE commits at that version only; an
 * eviction that names it commits at that one, or at the one that its own condition makes of it; any other commits at
 * whatever version the pod has. Of several the weakest holds.
 */
const ties = ["delete", "eviction", "none"] as const;
type Tie = (typeof ties)[number];

function weaker(a: Tie, b: Tie): Tie {
  return ties[Math.max(ties.indexOf(a), ties.indexOf(b))] ?? "none";
}

function tieOf({ operation, namesVersion }: PodDeletion): Tie {
  if (operation === "delete") return "delete";
  return namesVersion === true ? "eviction" : "none";
}

function tiedTo(tie: Tie, version: ResourceVersion | undefined): Partial<Bucket> {
  if (tie === "none" || version === undefined) return {};
  return tie === "delete" ? { podResourceVersion: version } : { evictionResourceVersion: version };
}

export interface RecordContext {
  readonly now: EpochMicros;
  readonly requiresPodName: (cellID: string) => boolean;
}

export interface Recorded {
  /** The buckets with the deletion recorded; not compacted. Made when they are read: most callers only judge. */
  readonly buckets: readonly Bucket[];
  /** The bucket of the deletion. */
  readonly single: Bucket;
  /** The pod held a bucket already, so that nothing was added to the weight. */
  readonly isRepeated: boolean;
  /** The pod was packed and is single now. */
  readonly isTakenOut: boolean;
}

export function record(buckets: readonly Bucket[], deletion: PodDeletion, context: RecordContext): Recorded {
  const { pod } = deletion;
  const isPacking = buckets.some(({ podUIDDigests }) => podUIDDigests !== undefined);
  const digest = isPacking ? digestOfUID(pod.uid) : "";
  /** The buckets that the pod leaves, with what stays of them. */
  const left = new Map<Bucket, Bucket | undefined>();
  let isRepeated = false;
  let isTakenOut = false;
  let startTime = formatMicroTime(context.now);
  let tie = tieOf(deletion);
  let version: ResourceVersion | undefined = pod.resourceVersion;
  for (const bucket of buckets) {
    // Nearly all buckets name another pod, or none.
    if (bucket.podUID !== pod.uid && bucket.podUIDDigests === undefined) continue;
    const kind = bucketKind(bucket);
    if (kind.kind === "single" && kind.podUID === pod.uid) {
      left.set(bucket, undefined);
      isRepeated = true;
      tie = weaker(tie, kind.version === undefined ? "none" : kind.isEvicted ? "eviction" : "delete");
      // A refresh starts the waits of settlement again, so it must be visible even on a clock that stands still.
      if (bucket.startTime === startTime) startTime = formatMicroTime((context.now + 1) as EpochMicros);
      version = newerResourceVersion(version, kind.version);
    } else if (kind.kind === "packed" && kind.digests.has(digest)) {
      isRepeated = true;
      isTakenOut = true;
      // The version of this pod's admission is no longer known, only that it is not above the bucket's.
      version = newerResourceVersion(version, kind.version);
      left.set(bucket, withoutDigests(bucket, kind.digests, new Set([digest])));
    }
  }
  const single: Bucket = {
    startTime,
    ...(context.requiresPodName(deletion.cellID) ? { podName: pod.name } : {}),
    podUID: pod.uid,
    ...tiedTo(tie, version),
  };
  return {
    get buckets() {
      const others =
        left.size === 0 ? buckets : buckets.flatMap((one) => (left.has(one) ? (left.get(one) ?? []) : one));
      return [...others, single];
    },
    single,
    isRepeated,
    isTakenOut,
  };
}

/** True when the cell cannot take the admission of one more pod. */
export function isFull(
  buckets: readonly Bucket[],
  deletion: PodDeletion,
  { deletesMax, evictionsMax }: Pick<HistoryLimits, "deletesMax" | "evictionsMax"> = historyLimits,
): boolean {
  if (totalWeight(buckets) < Math.min(deletesMax, evictionsMax)) return false;
  const { deletes, evictions } = recorded(buckets);
  // A pod that is evicted after its deletion was admitted has made room for another deletion.
  if (deletes + evictions >= deletesMax + evictionsMax) return true;
  return deletion.operation === "evict" ? evictions >= evictionsMax : deletes >= deletesMax;
}

/**
 * How full the fullest of these histories is, by the numbers that may be recorded: 1 = `isFull` of a deletion or of an
 * eviction, 0 = all are empty. Without the limit of bytes, which a status reaches only beside those of other cells.
 */
export function fullestOf(
  histories: Iterable<readonly Bucket[]>,
  { deletesMax, evictionsMax }: Pick<HistoryLimits, "deletesMax" | "evictionsMax"> = historyLimits,
): number {
  let fullest = 0;
  for (const buckets of histories) {
    const { deletes, evictions } = recorded(buckets);
    fullest = Math.max(fullest, deletes / deletesMax, evictions / evictionsMax);
  }
  return Math.min(1, fullest);
}

function recorded(buckets: readonly Bucket[]): { readonly deletes: number; readonly evictions: number } {
  let deletes = 0;
  let evictions = 0;
  for (const bucket of buckets) {
    const kind = bucketKind(bucket);
    if (kind.kind === "packed") deletes += kind.digests.size;
    else if (kind.kind === "single" && kind.version !== undefined && !kind.isEvicted) deletes += 1;
    else evictions += 1;
  }
  return { deletes, evictions };
}
