import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkerMetrics } from "../../../src/work-queue/worker-metrics.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";

test("two workers of one process share upstream's metrics and are told apart by their label", () => {
  const metrics = createCountingMetrics();
  const aggregator = createWorkerMetrics(metrics, "aggregator");
  const generator = createWorkerMetrics(metrics, "generator");
  aggregator.reconciled("nil", 5);
  aggregator.reconciled("nil", 6);
  generator.reconciled("Timeout", 7);
  aggregator.queueLength(3);
  generator.queueLength(4);
  assert.equal(metrics.value("worker_reconcile", { worker: "aggregator", error: "nil" }), 2);
  assert.equal(metrics.value("worker_reconcile", { worker: "generator", error: "Timeout" }), 1);
  assert.equal(metrics.value("worker_queue_length", { worker: "aggregator" }), 3);
  assert.equal(metrics.value("worker_queue_length", { worker: "generator" }), 4);
});
