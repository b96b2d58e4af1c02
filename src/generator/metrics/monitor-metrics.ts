/**
 * What is served of the PodProtectors of a core (docs/generator.md#monitor): the sums of monitor.ts under upstream's
 * names, and the figures of single ones (protector-metrics.ts). A standby shows what a core without PodProtectors
 * would.
 */
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Metrics } from "../../util/metrics.ts";
import { podStates, shareOf, type StateSums, sumsOf, type WorkloadSums } from "./monitor.ts";
import { createProtectorGauges } from "./protector-metrics.ts";

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
