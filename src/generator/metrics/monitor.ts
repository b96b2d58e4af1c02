/**
 * Sums over all PodProtectors of a core, and what part of them meets its floor (docs/generator.md#monitor). Pure. The
 * figures are those of upstream's monitor, but where there is nothing to compare with a share is 1, not NaN.
 */
import { type PodProtector, type Summary } from "../../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../../util/assert.ts";

/** What pods are counted by. */
export const podStates = ["created", "available", "ready", "scheduled", "running"] as const;
export type PodState = (typeof podStates)[number];

export interface WorkloadSums {
  readonly workloads: number;
  /** Those with a floor above 0. */
  readonly nonZeroWorkloads: number;
  /** Pods that must stay. */
  readonly minAvailable: number;
  /** Available pods less the admissions that are not settled. */
  readonly estimatedAvailable: number;
  readonly latencyMillis: number;
  /** Admissions that are not settled. */
  readonly outstanding: number;
  readonly byState: Readonly<Record<PodState, StateSums>>;
}

export interface StateSums {
  readonly pods: number;
  /** Workloads that have as many of them as must stay. */
  readonly enough: number;
  /** For each workload with a floor: how much of it is there, 1 at most. */
  readonly shares: number;
}

export function sumsOf(protectors: Iterable<PodProtector>): WorkloadSums {
  const sums = { workloads: 0, nonZeroWorkloads: 0, minAvailable: 0, estimatedAvailable: 0, latencyMillis: 0 };
  const byState = {
    created: { pods: 0, enough: 0, shares: 0 },
    available: { pods: 0, enough: 0, shares: 0 },
    ready: { pods: 0, enough: 0, shares: 0 },
    scheduled: { pods: 0, enough: 0, shares: 0 },
    running: { pods: 0, enough: 0, shares: 0 },
  } satisfies Record<PodState, StateSums>;
  for (const { spec, status } of protectors) {
    const minAvailable = Math.max(0, spec.minAvailable);
    const summary = status?.summary;
    sums.workloads += 1;
    if (minAvailable > 0) sums.nonZeroWorkloads += 1;
    sums.minAvailable += minAvailable;
    sums.estimatedAvailable += summary?.estimatedAvailableReplicas ?? 0;
    sums.latencyMillis += summary?.maxLatencyMillis ?? 0;
    for (const state of podStates) {
      const pods = podsOf(summary, state);
      const sum = byState[state];
      sum.pods += pods;
      if (pods >= minAvailable) sum.enough += 1;
      if (minAvailable > 0) sum.shares += Math.min(1, pods / minAvailable);
    }
  }
  return { ...sums, outstanding: byState.available.pods - sums.estimatedAvailable, byState };
}

/** A part of a whole; 1 where there is no whole, since nothing is missing then. */
export function shareOf(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

function podsOf(summary: Summary | undefined, state: PodState): number {
  switch (state) {
    case "created":
      return summary?.totalReplicas ?? 0;
    case "available":
      return summary?.aggregatedAvailableReplicas ?? 0;
    case "ready":
      return summary?.aggregatedReady ?? 0;
    case "scheduled":
      return summary?.aggregatedScheduled ?? 0;
    case "running":
      return summary?.aggregatedRunning ?? 0;
    default:
      return assertNever(state);
  }
}
