import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../src/api/object-key.ts";
import { createAggregatorMetrics, createHeartbeatMetrics } from "../../../src/aggregator/metrics.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

async function exposes(registry: ReturnType<typeof createMetrics>, lines: readonly string[]): Promise<void> {
  const { text } = await registry.expose();
  for (const line of lines) assert.ok(text.includes(line), `${line} in\n${text}`);
}

test("the registry takes every metric with the labels that the aggregator sets", async () => {
  const registry = createMetrics({ byNamespace: true, byUser: false, ofProcess: false });
  const metrics = createAggregatorMetrics(registry);
  metrics.reconciled(objectKey("default", "web"), { kind: "conflict" }, 100);
  metrics.enqueue.observe({ namespace: "default", kind: "Pod" }, 0.1);
  metrics.indexErrors.inc({ namespace: "default", error: "Selector" });
  metrics.statusWrites.inc({ result: "written" });
  metrics.promptCounts.inc({ result: "share" });
  metrics.settled.inc({ reason: "gone" }, 2);
  metrics.fences.inc({ result: "sent" });
  metrics.historyResets.inc();
  metrics.pruned("core");
  metrics.snapshotAge.set({}, 3);
  metrics.setSizes({
    protectors: 10,
    selectors: 9,
    queue: 3,
    "next-event-pool": 4,
    "barrier-pool": 5,
    "fence-pool": 6,
    fences: 7,
    "fences-waiting": 8,
    pods: 100,
    "unseen-pods": 40,
  });
  metrics.setOldestOpen({ delete: 1, eviction: 90, packed: 0, unknown: 2 });
  metrics.fullestHistory.set({}, 0.5);
  metrics.poolDrainCount.observe({}, 5);
  metrics.poolDrainPeriod.observe({}, 6);
  await exposes(registry, [
    'aggregator_reconcile_count{namespace="default",error="Conflict"} 1',
    "aggregator_fullest_history_ratio 0.5",
    'worker_queue_length{worker="aggregator"} 3',
    'aggregator_prompt_count_total{result="share"} 1',
    'aggregator_settled_total{reason="gone"} 2',
    'aggregator_next_event_pool_current_size{shard="0"} 4',
    'aggregator_table_entries{table="protectors"} 10',
    'aggregator_table_entries{table="selectors"} 9',
    'aggregator_table_entries{table="queue"} 3',
    'aggregator_table_entries{table="barrier-pool"} 5',
    'aggregator_table_entries{table="fence-pool"} 6',
    'aggregator_table_entries{table="fences"} 7',
    'aggregator_table_entries{table="fences-waiting"} 8',
    'aggregator_table_entries{table="pods"} 100',
    'aggregator_table_entries{table="unseen-pods"} 40',
    'extension_fields_pruned_total{role="aggregator",core="core"} 1',
    "aggregator_snapshot_age_seconds 3",
    'aggregator_oldest_open_admission_age_seconds{kind="eviction"} 90',
    "aggregator_next_event_pool_drain_count_count 1",
    "aggregator_next_event_pool_drain_period_count 1",
  ]);
});

test("the registry takes every metric with the labels that the heartbeat sets, and one reason is 1", async () => {
  const registry = createMetrics({ byNamespace: true, byUser: false, ofProcess: false });
  const metrics = createHeartbeatMetrics(registry);
  metrics.sent.inc({ core: "core", result: "sent" });
  metrics.coreResets.inc();
  metrics.setAge("core", 1500);
  metrics.setBehind("core", 3);
  metrics.setSilence("core", "first-counts");
  metrics.setSilence("core", "pods-not-fresh");
  await exposes(registry, [
    'aggregator_heartbeat_total{core="core",result="sent"} 1',
    "aggregator_core_history_reset_total 1",
    'aggregator_heartbeat_age_seconds{core="core"} 1.5',
    'aggregator_heartbeat_behind{core="core"} 3',
    'aggregator_heartbeat_silence{core="core",reason="first-counts"} 0',
    'aggregator_heartbeat_silence{core="core",reason="pods-not-fresh"} 1',
  ]);
});
