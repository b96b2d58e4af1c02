/** Metrics of the aggregator, with upstream's names where it has them (docs/compatibility.md#metrics). */
import { type ObjectKey, partsOf } from "../api/object-key.ts";
import { errorLabel } from "../kube/kube-client.ts";
import { type oldestAges, openKinds } from "../accounting/history/oldest-open.ts";
import { createPrunedCounter } from "../kube/pod-protectors.ts";
import {
  asyncLatencySeconds,
  type Counter,
  exponentialBuckets,
  functionDurationSeconds,
  type Metrics,
} from "../util/metrics.ts";
import { createWorkerMetrics, type Outcome, type WorkerMetrics } from "../work-queue/index.ts";

/**
 * Tables that grow with the work: PodProtectors that are known, those of them with a valid counting selector, those in
 * the work queue, those that wait for a barrier; pods whose fence a PodProtector waits for, pods whose fences are
 * remembered, fences that wait to be sent.
 */
const tables = [
  "protectors",
  "selectors",
  "queue",
  "barrier-pool",
  "fence-pool",
  "fences",
  "fences-waiting",
  "pods",
  "unseen-pods",
] as const;

/** Entries of each. The PodProtectors that wait for the next event have a gauge of upstream's. */
export type AggregatorSizes = Readonly<Record<(typeof tables)[number] | "next-event-pool", number>>;

export type AggregatorMetrics = ReturnType<typeof createAggregatorMetrics>;

/** Sizes, ages and the other gauges are to be set before each scrape. */
export function createAggregatorMetrics(metrics: Metrics) {
  const worker = createWorkerMetrics(metrics, "aggregator");
  return {
    /** A PodProtector was looked at. */
    reconciled: createReconcileObserver(metrics, worker),
    enqueue: metrics.histogram(
      "aggregator_enqueue",
      "Duration of handling one pod event, in seconds",
      ["namespace", "kind"],
      functionDurationSeconds,
    ),
    indexErrors: metrics.counter(
      "aggregator_index_error",
      "PodProtectors with an invalid selector, pods without the time that the sync-time algorithm reads, and Ready " +
        "times that are ahead of this clock (ReadyTime)",
      ["namespace", "error"],
    ),
    statusWrites: metrics.counter(
      "aggregator_status_write_total",
      "Status writes of PodProtectors, by result: written, conflict, failed, or without-conditions: written, but " +
        "without the conditions, which the core refuses",
      ["result"],
    ),
    /** How PodProtectors whose counts somebody waits for were scheduled. */
    promptCounts: createPromptCounter(metrics),
    settled: metrics.counter(
      "aggregator_settled_total",
      "Admitted deletions that were settled, by reason: terminating, gone, newer-version, fenced, window, " +
        "gave-up, event-time",
      ["reason"],
    ),
    fences: metrics.counter(
      "aggregator_fence_total",
      "Fence patches of pods, by result: sent, forbidden, replaced, stripped, failed; gave-up counts admissions that " +
        "were settled by the window because all patches failed",
      ["result"],
    ),
    historyResets: metrics.counter(
      "aggregator_worker_history_reset_total",
      "Worker cluster restores detected (resourceVersions went backwards), in the snapshot or in a PodProtector",
      [],
    ),
    selfChecks: metrics.counter(
      "aggregator_self_check_total",
      "PodProtectors whose pods were counted again from scratch, by result: same, or wrong: what was kept of them " +
        "incrementally differed; repaired and unrepaired say what came of each wrong one",
      ["result"],
    ),
    /** The CRD of the core dropped extension fields of a write. */
    pruned: createPrunedCounter(metrics, "aggregator"),
    snapshotAge: metrics.gauge(
      "aggregator_snapshot_age_seconds",
      "Seconds since the last event, bookmark or list of the pod watch",
      [],
    ),
    setSizes: createSizeGauges(metrics, worker),
    setOldestOpen: createAgeGauge(metrics),
    fullestHistory: metrics.gauge(
      "aggregator_fullest_history_ratio",
      "How full the fullest admission history of this cell is, over all PodProtectors: 1 refuses what needs a record",
      [],
    ),
    unmatchedProtectors: metrics.gauge(
      "aggregator_unmatched_podprotectors",
      "PodProtectors that want pods to stay and match none, in this cell or, by their status, in another one",
      [],
    ),
    ...createPoolHistograms(metrics),
  };
}

function createPromptCounter(metrics: Metrics): Counter {
  return metrics.counter(
    "aggregator_prompt_count_total",
    "Times that a PodProtector was to be counted at once because somebody waits for it, by result: prompt, or left " +
      "to the aggregation rate because of its share, tokens or bytes, or because the rate is sooner",
    ["result"],
  );
}

function createPoolHistograms(metrics: Metrics) {
  return {
    poolDrainCount: metrics.histogram(
      "aggregator_next_event_pool_drain_count",
      "PodProtectors taken from the next-event pool at once",
      [],
      exponentialBuckets(16),
    ),
    poolDrainPeriod: metrics.histogram(
      "aggregator_next_event_pool_drain_period",
      "Seconds between two drains of the next-event pool",
      [],
      asyncLatencySeconds,
    ),
  };
}

function createSizeGauges(metrics: Metrics, worker: WorkerMetrics) {
  const poolSize = metrics.gauge(
    "aggregator_next_event_pool_current_size",
    "PodProtectors waiting for the next pod event",
    ["shard"],
  );
  const entries = metrics.gauge("aggregator_table_entries", `Current entries, by table: ${tables.join(", ")}`, [
    "table",
  ]);
  return (sizes: AggregatorSizes): void => {
    poolSize.set({ shard: "0" }, sizes["next-event-pool"]);
    worker.queueLength(sizes.queue);
    for (const table of tables) entries.set({ table }, sizes[table]);
  };
}

function createAgeGauge(metrics: Metrics) {
  const age = metrics.gauge(
    "aggregator_oldest_open_admission_age_seconds",
    "Seconds since the last review of the oldest admitted deletion in the cell that is not settled, by kind: delete, " +
      "eviction, packed, unknown; by the clock of this process",
    ["kind"],
  );
  return (ages: ReturnType<typeof oldestAges>): void => {
    for (const kind of openKinds) age.set({ kind }, ages[kind]);
  };
}

function createReconcileObserver(metrics: Metrics, worker: WorkerMetrics) {
  const reconcile = metrics.histogram(
    "aggregator_reconcile",
    "Duration of one reconciliation of a PodProtector, in seconds",
    ["namespace", "error"],
    functionDurationSeconds,
  );
  return (key: ObjectKey, outcome: Outcome, durationMs: number): void => {
    const error = outcomeLabel(outcome);
    reconcile.observe({ namespace: partsOf(key).namespace, error }, durationMs / 1000);
    worker.reconciled(error, durationMs);
  };
}

/** The metric label of a reconciliation's outcome. */
function outcomeLabel(outcome: Outcome): string {
  if (outcome.kind === "conflict") return "Conflict";
  if (outcome.kind === "done") return "nil";
  return errorLabel(outcome.error);
}

/** Why no heartbeat is sent. */
const silences = [
  "pods-not-fresh",
  "podprotectors-not-fresh",
  "first-counts",
  "too-many-behind",
  "forbidden",
  "write-failed",
  "held-by-other-cluster",
  "lease-unreadable",
] as const;

export type Silence = (typeof silences)[number];

export type HeartbeatMetrics = ReturnType<typeof createHeartbeatMetrics>;

/** Of the heartbeats of a cell (docs/aggregator.md#heartbeat). */
export function createHeartbeatMetrics(metrics: Metrics) {
  const silence = metrics.gauge(
    "aggregator_heartbeat_silence",
    `Whether the leader sends no heartbeats (1), by reason: ${silences.join(", ")}`,
    ["core", "reason"],
  );
  const age = metrics.gauge(
    "aggregator_heartbeat_age_seconds",
    "Seconds since the leader's last heartbeat; +Inf before the first",
    ["core"],
  );
  const behind = metrics.gauge(
    "aggregator_heartbeat_behind",
    "PodProtectors that the last heartbeat names as not counted: for those the cell is silent",
    ["core"],
  );
  return {
    sent: metrics.counter("aggregator_heartbeat_total", "Heartbeats of the cell, by result: sent, or the error", [
      "core",
      "result",
    ]),
    coreResets: metrics.counter(
      "aggregator_core_history_reset_total",
      "Core cluster restores detected (resourceVersions went backwards) by a list of PodProtectors",
      [],
    ),
    /** The UID of the worker cluster may not be read. */
    clusterUnknown: metrics.counter(
      "aggregator_cluster_unknown_total",
      "Reads of the worker's namespace kube-system that were forbidden: two clusters of one cell are not told apart",
      [],
    ),
    /** Undefined = heartbeats are sent, or this process does not lead. */
    setSilence(core: string, present: Silence | undefined): void {
      for (const reason of silences) silence.set({ core, reason }, reason === present ? 1 : 0);
    },
    /** To be called before each scrape. +Inf before the first beat. */
    setAge: (core: string, ageMs: number): void => age.set({ core }, ageMs / 1000),
    /** PodProtectors that the last beat named. */
    setBehind: (core: string, count: number): void => behind.set({ core }, count),
  };
}
