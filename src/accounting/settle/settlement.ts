/**
 * Settlement: when an admitted deletion stops counting against the quota. docs/accounting.md#settlement has the table;
 * `judgePod` and `settleAnonymous` are its rows.
 *
 * Invariants:
 * - A bucket is dropped only when its deletion is visible in the counted snapshot, or can no longer commit.
 * - No clocks of two machines are compared. Waits are measured on this aggregator's own monotonic clock from the moment
 *   when it first saw the bucket, and start again when the bucket changes or the process restarts. This makes
 *   settlement late, never wrong.
 * - A result is valid only for the buckets as they were read: it must be written with a compare-and-swap.
 */
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { assert, assertNever } from "../../util/assert.ts";
import { earlierOf, later, laterOf, type MonotonicMs } from "../../util/clock.ts";
import { bucketKind, bucketWeight } from "../history/bucket.ts";
import { type FirstSeen, type Seen } from "./first-seen.ts";
import { withoutDigests } from "../history/compaction.ts";
import { type FenceRegistry } from "./fence-registry.ts";

export interface SnapshotPod {
  readonly uid: string;
  readonly resourceVersion: ResourceVersion;
  readonly isTerminating: boolean;
}

/** What settlement may know of a cell's pods: all of them, not only those that a selector matches today. */
export interface Snapshot {
  /** Everything up to this version is included. */
  readonly version: ResourceVersion;
  /**
   * When the newest LIST barrier that this snapshot has passed was *sent*: everything committed before that moment is
   * included. `longAgo` when none was passed.
   */
  readonly barrierSentAtMs: MonotonicMs;
  find(podUID: string): SnapshotPod | undefined;
  /** By accounting/history/uid-digest.ts. */
  findByDigest(digest: string): SnapshotPod | undefined;
}

export interface SettlementConfig {
  /** How long a pod must stay alive at an admitted version before it is fenced. */
  readonly settlementFenceDelayMs: number;
  /**
   * How long a bucket without a version must have been seen before a LIST barrier settles it. Longer than the longest
   * request.
   */
  readonly settleWindowMs: number;
}

export type SettleReason = "terminating" | "gone" | "newer-version" | "fenced" | "window" | "gave-up" | "event-time";

export interface Settlement {
  /** The buckets that stay, in their order; the same list when nothing settled. */
  readonly buckets: readonly Bucket[];
  /** Weight settled, by reason, for metrics. */
  readonly settled: ReadonlyMap<SettleReason, number>;
  /** Pods that should be fenced now. */
  readonly fence: readonly string[];
  /** A LIST barrier sent after this moment (which may be in the future) would let something settle. */
  readonly barrierFromMs: MonotonicMs | undefined;
  /** Look again at this moment: something changes with time alone. */
  readonly wakeAtMs: MonotonicMs | undefined;
}

export interface SettlementInput {
  readonly buckets: readonly Bucket[];
  readonly firstSeen: FirstSeen;
  readonly snapshot: Snapshot;
  readonly fences: FenceRegistry;
  readonly config: SettlementConfig;
  readonly nowMs: MonotonicMs;
}

/** Judges every bucket of one cell of one PodProtector. `firstSeen` must have observed this very list last. */
export function settle(input: SettlementInput): Settlement {
  assert(input.firstSeen.hasObserved(input.buckets), "the buckets to settle were observed last");
  const kept: Bucket[] = [];
  const settled = new Map<SettleReason, number>();
  const fence = new Set<string>();
  let barrierFromMs: MonotonicMs | undefined;
  let wakeAtMs: MonotonicMs | undefined;
  const tally = (reason: SettleReason, weight: number): void => {
    settled.set(reason, (settled.get(reason) ?? 0) + weight);
  };
  const note = (wait: Wait): void => {
    if (wait.fence !== undefined) fence.add(wait.fence);
    barrierFromMs = earlierOf(barrierFromMs, wait.barrierFromMs);
    // Past wake-ups are dropped: a barrier or an event will wake this cell.
    if (wait.wakeAtMs !== undefined && wait.wakeAtMs > input.nowMs) wakeAtMs = earlierOf(wakeAtMs, wait.wakeAtMs);
  };
  // Anonymous admissions of a cell are one number, because a Go component may merge them at any time.
  let anonymousDue = settleAnonymous(input, note);

  for (const bucket of input.buckets) {
    const kind = bucketKind(bucket);
    let rest: Bucket | undefined = bucket;
    switch (kind.kind) {
      case "single": {
        const pod = input.snapshot.find(kind.podUID);
        const result = judgePod(input, input.firstSeen.single(kind.podUID), pod, kind);
        if (result.kind === "wait") note(result);
        else {
          tally(result.reason, bucketWeight(bucket));
          rest = undefined;
        }
        break;
      }
      case "packed": {
        const gone = new Set<string>();
        for (const digest of kind.digests.list()) {
          const pod = input.snapshot.findByDigest(digest);
          const result = judgePod(input, input.firstSeen.packed(digest), pod, kind);
          if (result.kind === "wait") note(result);
          else {
            tally(result.reason, 1);
            gone.add(digest);
          }
        }
        if (gone.size > 0) rest = withoutDigests(bucket, kind.digests, gone);
        break;
      }
      case "anonymous": {
        const due = Math.min(anonymousDue, kind.counter);
        anonymousDue -= due;
        if (due > 0) tally("window", due);
        rest = due === kind.counter ? undefined : due === 0 ? bucket : { ...bucket, counter: kind.counter - due };
        break;
      }
      default:
        assertNever(kind);
    }
    if (rest !== undefined) kept.push(rest);
  }
  return { buckets: settled.size === 0 ? input.buckets : kept, settled, fence: [...fence], barrierFromMs, wakeAtMs };
}

/** Longer than the API server takes for a deletion that nothing holds up. */
const earlyFenceDelayMs = 1_000;

interface Wait {
  readonly kind: "wait";
  readonly fence?: string;
  readonly barrierFromMs?: MonotonicMs;
  readonly wakeAtMs?: MonotonicMs;
}
type PodJudgement = Wait | { readonly kind: "settled"; readonly reason: SettleReason };

/** The rows of the table for a bucket (or a packed entry) that names its pod. */
function judgePod(
  input: SettlementInput,
  seen: Seen,
  pod: SnapshotPod | undefined,
  { version, isEvicted = false }: { readonly version: ResourceVersion | undefined; readonly isEvicted?: boolean },
): PodJudgement {
  const { snapshot, config, nowMs } = input;
  const barrierPassed = snapshot.barrierSentAtMs > seen.sinceMs;
  const reached = version !== undefined && compareResourceVersions(snapshot.version, version) >= 0;

  if (pod === undefined) {
    if (reached || barrierPassed) return { kind: "settled", reason: "gone" };
    // With a version the watch usually gets there by itself. It never reaches a forged or foreign version, so a barrier
    // is asked for after the fence delay.
    const barrierFromMs = version === undefined ? seen.sinceMs : later(seen.sinceMs, config.settlementFenceDelayMs);
    return { kind: "wait", barrierFromMs, wakeAtMs: barrierFromMs };
  }
  if (pod.isTerminating) return { kind: "settled", reason: "terminating" };
  if (version === undefined) return judgeByWindow(input, seen);
  // The API server moves the pod of an eviction itself, and then deletes at the version that this gives.
  const hasMoved = !isEvicted && compareResourceVersions(pod.resourceVersion, version) > 0;
  if (hasMoved) return { kind: "settled", reason: "newer-version" };

  const fence = input.fences.fenceOf(pod.uid);
  if (
    fence !== undefined &&
    fence.sentAtMs > seen.sinceMs &&
    compareResourceVersions(pod.resourceVersion, fence.version) >= 0
  ) {
    return { kind: "settled", reason: "fenced" };
  }
  if (input.fences.isForbidden(pod.uid)) return judgeByWindow(input, seen);
  const failing = judgeFailingFence(input, seen, pod);
  if (failing.kind === "settled") return failing;

  if (!reached && !barrierPassed) {
    const barrierFromMs = later(seen.sinceMs, config.settlementFenceDelayMs);
    return { kind: "wait", barrierFromMs, wakeAtMs: barrierFromMs };
  }
  const dueMs = fenceDueMs(input, seen, pod);
  // A fence is in flight; its answer will wake the cell.
  if (dueMs === undefined) return failing;
  if (dueMs <= nowMs) return { ...failing, fence: pod.uid };
  return { ...failing, wakeAtMs: Math.min(dueMs, failing.wakeAtMs ?? dueMs) as MonotonicMs };
}

/**
 * When a pod that is alive at an admitted version is fenced (again). A pod that was reviewed again while it held its
 * bucket, or that was fenced before it got this bucket, is most likely one whose deletion somebody else refuses each
 * time. It is fenced early, so that its quota is free between two tries.
 */
function fenceDueMs({ fences, firstSeen, config, nowMs }: SettlementInput, seen: Seen, pod: SnapshotPod) {
  const usualMs = fences.nextSendMs(pod.uid, "usual");
  const earlyMs = fences.nextSendMs(pod.uid, "early");
  if (usualMs === undefined || earlyMs === undefined) return undefined;
  const delayMs = config.settlementFenceDelayMs;
  const dueMs = laterOf(usualMs, later(firstSeen.comparableSinceMs(seen, nowMs), delayMs));
  const isTriedAgain = seen.isRefreshed === false ? fences.wasSentBefore(pod.uid, seen.sinceMs) : seen.isRefreshed;
  if (isTriedAgain !== true) return dueMs;
  return earlierOf(dueMs, laterOf(earlyMs, later(seen.sinceMs, Math.min(earlyFenceDelayMs, delayMs))));
}

/**
 * A pod whose fences have failed for a settle window is judged by the window, so that no bucket waits for ever.
 * - Refused each time: something else than the cluster's health is in the way.
 * - Otherwise the patches may hang in the same stall as the deletion, and no time proves that it is over. A write of
 *   ours that was sent after the window began, and was carried out, does; the barrier is sent after that.
 */
function judgeFailingFence(input: SettlementInput, seen: Seen, pod: SnapshotPod): PodJudgement {
  const { fences, config, snapshot, nowMs } = input;
  const failing = fences.failingOf(pod.uid);
  // A fence that failed before the bucket was seen tells nothing of its deletion.
  if (failing === undefined || failing.lastSentAtMs <= seen.sinceMs) return { kind: "wait" };
  const windowAfter = (sinceMs: MonotonicMs) => later(laterOf(sinceMs, seen.sinceMs), config.settleWindowMs);
  const refusedFromMs = failing.refusedSinceMs === undefined ? undefined : windowAfter(failing.refusedSinceMs);
  const wroteAtMs = fences.ownWriteAfter(laterOf(failing.sinceMs, seen.sinceMs));
  const provenFromMs = wroteAtMs === undefined ? undefined : laterOf(windowAfter(failing.sinceMs), wroteAtMs);
  const fromMs = earlierOf(refusedFromMs, provenFromMs);
  if (fromMs === undefined) return { kind: "wait" };
  if (snapshot.barrierSentAtMs > fromMs) return { kind: "settled", reason: "gave-up" };
  return { kind: "wait", barrierFromMs: fromMs, ...(fromMs > nowMs && { wakeAtMs: fromMs }) };
}

function judgeByWindow(input: SettlementInput, seen: Seen): PodJudgement {
  const fromMs = later(seen.sinceMs, input.config.settleWindowMs);
  if (input.snapshot.barrierSentAtMs >= fromMs) return { kind: "settled", reason: "window" };
  return { kind: "wait", barrierFromMs: fromMs, wakeAtMs: fromMs };
}

/**
 * How many anonymous admissions are due: their smallest number since one settle window before a passed barrier.
 */
function settleAnonymous(input: SettlementInput, note: (wait: Wait) => void): number {
  const { firstSeen, config, snapshot } = input;
  const oldest = firstSeen.anonymousSinceMs();
  if (oldest === undefined) return 0;
  const due = firstSeen.anonymousMinimumSince(later(snapshot.barrierSentAtMs, -config.settleWindowMs));
  if (firstSeen.anonymousCount() > due) {
    const fromMs = firstSeen.anonymousRipeAtMs(config.settleWindowMs, snapshot.barrierSentAtMs);
    note({ kind: "wait", barrierFromMs: fromMs, wakeAtMs: fromMs });
  }
  return due;
}
