/**
 * Metrics of the aggregator. Upstream's names where it has them (section 8.4); the rest begins with aggregator_ too.
 */
import { errorLabel } from "../kube/kube-client.ts";
import { createPrunedCounter } from "../kube/pod-protector-metrics.ts";
import {
  asyncLatencySeconds,
  type Counter,
  exponentialBuckets,
  functionDurationSeconds,
  type Gauge,
  type Histogram,
  type Metrics,
} from "../util/metrics.ts";
import { type Outcome } from "../work-queue/index.ts";

/** Entries of what grows and shrinks with the work. */
export interface AggregatorSizes {
  /** PodProtectors that are known. */
  readonly protectors: number;
  /** Those of them with a valid counting selector. */
  readonly selectors: number;
  /** PodProtectors in the work queue, those that wait for a moment included. */
  readonly queue: number;
  /** PodProtectors that look again at the next pod event. */
  readonly nextEventPool: number;
  /** PodProtectors that look again when a barrier has been passed. */
  readonly barrierPool: number;
  /** Pods whose fence somebody waits for. */
  readonly fencePool: number;
  /** Pods whose fences are remembered. */
  readonly fences: number;
  /** Fences that wait for their turn. */
  readonly fencesWaiting: number;
}

export interface AggregatorMetrics {
  readonly reconcile: Histogram;
  readonly enqueue: Histogram;
  readonly indexErrors: Counter;
  readonly statusWrites: Counter;
  readonly settled: Counter;
  readonly fences: Counter;
  readonly historyResets: Counter;
  /** The CRD of the core dropped extension fields of a write. */
  readonly pruned: (core: string) => void;
  readonly snapshotAge: Gauge;
  /** To be called before each scrape. */
  sizes(sizes: AggregatorSizes): void;
  readonly poolDrainCount: Histogram;
  readonly poolDrainPeriod: Histogram;
}

export function createAggregatorMetrics(metrics: Metrics): AggregatorMetrics {
  return {
    reconcile: metrics.histogram(
      "aggregator_reconcile",
      "Duration of one reconciliation of a PodProtector, in seconds",
      ["namespace", "error"],
      functionDurationSeconds,
    ),
    enqueue: metrics.histogram(
      "aggregator_enqueue",
      "Duration of handling one pod event, in seconds",
      ["namespace", "kind"],
      functionDurationSeconds,
    ),
    indexErrors: metrics.counter(
      "aggregator_index_error",
      "PodProtectors that cannot be counted, and pods without the time that the sync-time algorithm reads, by reason",
      ["namespace", "error"],
    ),
    statusWrites: metrics.counter(
      "aggregator_status_write_total",
      "Status writes of PodProtectors, by result: written, conflict, failed",
      ["result"],
    ),
    settled: metrics.counter(
      "aggregator_settled_total",
      "Admitted deletions settled, by reason: terminating, gone, newer-version, fenced, window, event-time",
      ["reason"],
    ),
    fences: metrics.counter(
      "aggregator_fence_total",
      "Fences sent to pods, by result: sent, forbidden, replaced, stripped, failed",
      ["result"],
    ),
    historyResets: metrics.counter(
      "aggregator_worker_history_reset_total",
      "Times that the worker cluster's versions turned out to be of a former history, in the snapshot or in a PodProtector",
      [],
    ),
    pruned: createPrunedCounter(metrics, "aggregator"),
    snapshotAge: metrics.gauge("aggregator_snapshot_age_seconds", "Seconds since the pod watch was last heard of", []),
    sizes: createSizeGauges(metrics),
    poolDrainCount: metrics.histogram(
      "aggregator_next_event_pool_drain_count",
      "PodProtectors taken from the pool at once",
      [],
      exponentialBuckets(16),
    ),
    poolDrainPeriod: metrics.histogram(
      "aggregator_next_event_pool_drain_period",
      "Seconds between two drains of the pool",
      [],
      asyncLatencySeconds,
    ),
  };
}

function createSizeGauges(metrics: Metrics): AggregatorMetrics["sizes"] {
  const poolSize = metrics.gauge(
    "aggregator_next_event_pool_current_size",
    "PodProtectors waiting for the next pod event",
    ["shard"],
  );
  const entries = metrics.gauge(
    "aggregator_table_entries",
    "Current entries, by table: protectors, selectors, queue, barrier-pool, fence-pool, fences, fences-waiting",
    ["table"],
  );
  return (sizes) => {
    poolSize.set({ shard: "0" }, sizes.nextEventPool);
    entries.set({ table: "protectors" }, sizes.protectors);
    entries.set({ table: "selectors" }, sizes.selectors);
    entries.set({ table: "queue" }, sizes.queue);
    entries.set({ table: "barrier-pool" }, sizes.barrierPool);
    entries.set({ table: "fence-pool" }, sizes.fencePool);
    entries.set({ table: "fences" }, sizes.fences);
    entries.set({ table: "fences-waiting" }, sizes.fencesWaiting);
  };
}

/** The label of a reconciliation's outcome. */
export function outcomeLabel(outcome: Outcome): string {
  if (outcome.kind === "conflict") return "Conflict";
  if (outcome.kind === "done") return "nil";
  return errorLabel(outcome.error);
}
