/**
 * Sums over all PodProtectors of a core, and what part of them meets its floor (docs/generator.md#monitor), as gauges
 * of the leader. The figures are those of upstream's monitor, but where there is nothing to compare with a share is 1,
 * not NaN.
 */
import { type PodProtector, type Summary } from "../../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../../util/assert.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Metrics } from "../../util/metrics.ts";
import { createProtectorGauges } from "./protector-metrics.ts";

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

const prefix = "generator_monitor_workloads_";

type Figure<S> = readonly [name: string, help: string, of: (sums: S) => number];

const overall: readonly Figure<WorkloadSums>[] = [
  ["num_workloads", "PodProtectors", ({ workloads }) => workloads],
  ["num_non_zero_workloads", "PodProtectors with a floor above 0", ({ nonZeroWorkloads }) => nonZeroWorkloads],
  ["min_available", "Pods that must stay", ({ minAvailable }) => minAvailable],
  [
    "current_estimated_available_replicas",
    "Available pods less admissions that are not settled",
    ({ estimatedAvailable }) => estimatedAvailable,
  ],
  ["sum_latency_millis", "Milliseconds by which admissions are ahead of counts", ({ latencyMillis }) => latencyMillis],
  ["total_outstanding_history", "Admissions that are not settled", ({ outstanding }) => outstanding],
];

type OfState = StateSums & Pick<WorkloadSums, "workloads" | "nonZeroWorkloads" | "minAvailable">;

/** X stands for the state of the pods. */
const byState: readonly Figure<OfState>[] = [
  ["num_X_workloads", "PodProtectors with as many X pods as must stay", ({ enough }) => enough],
  [
    "proportion_X_workloads",
    "Share of PodProtectors with as many X pods as must stay; 1 without PodProtectors",
    ({ enough, workloads }) => shareOf(enough, workloads),
  ],
  ["current_aggregated_X_pods", "Pods that are X", ({ pods }) => pods],
  [
    "proportion_X_pods",
    "Pods that are X for each pod that must stay; 1 where none must",
    ({ pods, minAvailable }) => shareOf(pods, minAvailable),
  ],
  ["sum_X_proportion", "Sum of the shares of floors above 0 that X pods cover, each 1 at most", ({ shares }) => shares],
  [
    "avg_X_proportion_ppm",
    "Average of these shares, from 0 to 1 in spite of the name; 1 without a floor above 0",
    ({ shares, nonZeroWorkloads }) => shareOf(shares, nonZeroWorkloads),
  ],
];

export interface Monitor {
  /** From now on the gauges are served as the leader's, until the signal aborts. */
  lead(leadership: AbortSignal): void;
}

/**
 * The gauges of one core. The sums are made anew for each scrape: 20,000 PodProtectors take a few milliseconds, and
 * nothing has to be kept in step with the cache.
 */
export function createMonitor(
  protectors: Pick<Informer<StoredProtector>, "values">,
  metrics: Metrics,
  core: string,
): Monitor {
  const set = createMonitorGauges(metrics);
  const showEach = createProtectorGauges(metrics, core);
  let leadership: AbortSignal | undefined;
  metrics.onScrape(() => {
    const isLeading = leadership !== undefined && !leadership.aborted;
    const all = isLeading ? [...protectors.values()] : [];
    set(sumsOf(all.map(({ protector }) => protector)));
    showEach(all);
  });
  return {
    lead(signal) {
      leadership = signal;
    },
  };
}

/** Returns what is to be called before each scrape. */
function createMonitorGauges(metrics: Metrics): (sums: WorkloadSums) => void {
  const gauges = overall.map(([name, help, of]) => ({ gauge: metrics.gauge(`${prefix}${name}`, help), of }));
  const ofStates = podStates.flatMap((state) =>
    byState.map(([name, help, of]) => {
      const gauge = metrics.gauge(`${prefix}${name.replace("X", state)}`, help.replace("X", state));
      return { gauge, of: (sums: WorkloadSums) => of({ ...sums, ...sums.byState[state] }) };
    }),
  );
  return (sums) => {
    for (const { gauge, of } of [...gauges, ...ofStates]) gauge.set({}, of(sums));
  };
}
