import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { createGeneratorMetrics } from "../../../../src/generator/metrics/metrics.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";

test("the registry takes every metric under upstream's name with the labels that the generator sets", async () => {
  const registry = createMetrics({ byNamespace: true, byUser: false, ofProcess: false });
  const metrics = createGeneratorMetrics(registry);
  const source = { group: "apps", version: "v1", resource: "deployments", namespace: "default" };
  metrics.actions.inc({ ...source, action: "Create" });
  metrics.actions.inc({ ...source, action: "Create" });
  metrics.reconciled(deployments, objectKey("default", "deployment-web"), { kind: "done" }, 100);
  metrics.setSizes({ queue: 2, paced: 3 });
  metrics.setSources({ undrainable: 4, unprotected: 5, unprotectable: new Map([["forbidden", 6]]) });
  metrics.setKinds([{ kind: deployments, isKnown: true }]);
  metrics.setTroubles({ ignored: 9, vanished: 7, waitingReleases: 8, isCrdLost: true });
  metrics.releaseListFailures.inc({ error: "forbidden" });
  metrics.cellConditionFailures.inc({ error: "timeout" });
  const { text } = await registry.expose();
  const labels = 'group="apps",version="v1",resource="deployments",namespace="default"';
  for (const line of [
    "generator_queue_entries 2",
    "generator_ignored_podprotectors 9",
    'generator_source_kind_known{group="apps",version="v1",resource="deployments"} 1',
    "generator_vanished_podprotectors 7",
    "generator_waiting_releases 8",
    "generator_crd_lost 1",
    'generator_release_list_failures_total{error="forbidden"} 1',
    'generator_cell_condition_failures_total{error="timeout"} 1',
    "generator_paced_objects 3",
    "generator_undrainable_sources 4",
    "generator_unprotected_sources 5",
    'generator_unprotectable_sources{reason="forbidden"} 6',
    `generator_action{${labels},action="Create"} 2`,
    `generator_reconcile_count{${labels},error="nil"} 1`,
    `generator_reconcile_sum{${labels},error="nil"} 0.1`,
    'worker_reconcile_count{worker="generator",error="nil"} 1',
    'worker_queue_length{worker="generator"} 2',
  ]) {
    assert.ok(text.split("\n").includes(line), `${line} in\n${text}`);
  }
});
