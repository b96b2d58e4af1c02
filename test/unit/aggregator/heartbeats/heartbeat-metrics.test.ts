import assert from "node:assert/strict";
import { test } from "node:test";
import { createHeartbeatMetrics } from "../../../../src/aggregator/heartbeats/heartbeat-metrics.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";

test("the registry takes every metric with the labels that the heartbeat sets, and one reason is 1", async () => {
  const registry = createMetrics({ byNamespace: true, byUser: false, ofProcess: false });
  const metrics = createHeartbeatMetrics(registry);
  metrics.sent.inc({ core: "core", result: "sent" });
  metrics.coreResets.inc();
  metrics.setAge("core", 1500);
  metrics.setBehind("core", 3);
  metrics.setSilence("core", "first-counts");
  metrics.setSilence("core", "pods-not-fresh");
  const { text } = await registry.expose();
  for (const line of [
    'aggregator_heartbeat_total{core="core",result="sent"} 1',
    "aggregator_core_history_reset_total 1",
    'aggregator_heartbeat_age_seconds{core="core"} 1.5',
    'aggregator_heartbeat_behind{core="core"} 3',
    'aggregator_heartbeat_silence{core="core",reason="first-counts"} 0',
    'aggregator_heartbeat_silence{core="core",reason="pods-not-fresh"} 1',
  ])
    assert.ok(text.includes(line), `${line} in\n${text}`);
});
