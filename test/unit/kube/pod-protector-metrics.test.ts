import assert from "node:assert/strict";
import { test } from "node:test";
import { createIndexErrorCounter, createPrunedCounter } from "../../../src/kube/pod-protector-metrics.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

test("two roles of one process count into one metric with one help text", async () => {
  const registry = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  createIndexErrorCounter(registry)();
  createIndexErrorCounter(registry)();
  createPrunedCounter(registry, "webhook")("core");
  createPrunedCounter(registry, "aggregator")("core");
  createPrunedCounter(registry, "webhook")("core-2");
  const { text } = await registry.expose();
  assert.deepEqual(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("# TYPE")),
    [
      "# HELP ppr_index_error Invalid states of PodProtectors received from the core",
      'ppr_index_error{error="Invalid"} 2',
      "# HELP extension_fields_pruned_total Accepted status writes whose extension fields the CRD of the core dropped",
      'extension_fields_pruned_total{role="webhook",core="core"} 1',
      'extension_fields_pruned_total{role="aggregator",core="core"} 1',
      'extension_fields_pruned_total{role="webhook",core="core-2"} 1',
    ],
  );
});
