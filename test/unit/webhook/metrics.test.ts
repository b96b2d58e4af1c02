import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { KnownCells } from "../../../src/webhook/known-cells.ts";
import { createWebhookMetrics } from "../../../src/webhook/metrics.ts";
import { RecordedMetrics } from "./support/replica.ts";

const cells = new KnownCells(["c1"]);

test("webhook metrics call cells that are not known by one name, because anybody may call any path", () => {
  const recorded = new RecordedMetrics();
  const metrics = createWebhookMetrics(recorded, cells);
  for (const cellID of ["c1", "c2", "c3"]) metrics.request(cellID, "Unmatched", "DeletePod", 1);
  metrics.httpError("c4", "ReadBody");
  assert.equal(recorded.count('webhook_request{cell="c1"'), 1);
  assert.equal(recorded.count('webhook_request{cell="other"'), 2);
  assert.equal(recorded.count('webhook_http_error{cell="other"'), 1);
});

test("webhook metrics count decisions from scrape to scrape, and none twice", async () => {
  const registry = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const metrics = createWebhookMetrics(registry, cells);
  const line = /^webhook_decisions_total\{result="refused",reason="TooFewReplicas",cell="c1"\} (\d+)$/m;
  for (const expected of ["2", "4"]) {
    for (const cellID of ["c1", "c1", "c2"]) metrics.decided("refused", "TooFewReplicas", cellID);
    assert.equal(line.exec((await registry.expose()).text)?.[1], expected);
  }
  assert.match((await registry.expose()).text, /cell="other"\} 2$/m);
});

test("webhook metrics take no label value that is longer than a name can be", () => {
  const recorded = new RecordedMetrics();
  const metrics = createWebhookMetrics(recorded, cells);
  const event = { cellID: "c1", namespace: "ns", requestType: "DeletePod", isRejected: false, durationMs: 1 };
  const serviceAccount = `system:serviceaccount:${"n".repeat(63)}:${"s".repeat(253)}`;
  for (const user of [serviceAccount, "u".repeat(1_000_000)]) metrics.handledPod({ ...event, user });
  const users = [...recorded.values.keys()].flatMap((text) => /user="([^"]*)"/.exec(text)?.[1] ?? []);
  assert.deepEqual(users, [serviceAccount, "other"]);
});

test("webhook metrics measure in seconds", () => {
  const recorded = new RecordedMetrics();
  createWebhookMetrics(recorded, cells).request("c1", "AdmittedAll", "EvictPod", 250);
  assert.deepEqual(recorded.values.get('webhook_request{cell="c1",status="AdmittedAll",cause="EvictPod"}'), [0.25]);
});

test("webhook metrics call all nodes by one name", () => {
  const recorded = new RecordedMetrics();
  const metrics = createWebhookMetrics(recorded, cells);
  const event = { cellID: "c1", namespace: "ns", requestType: "DeletePod", isRejected: false, durationMs: 1 };
  metrics.handledPod({ ...event, user: "system:node:n1" });
  metrics.handledPod({ ...event, user: "system:node:n2" });
  assert.equal(recorded.values.size, 1);
});

test("webhook metrics name a bounded number of invalid PodProtectors, and count the states of all", () => {
  const recorded = new RecordedMetrics();
  const metrics = createWebhookMetrics(recorded, cells);
  for (let index = 0; index < 1_200; index++) metrics.unusableProtector(`core/ns/p${index}`, true);
  metrics.unusableProtector("core/ns/p0", false);
  assert.deepEqual(recorded.values.get('webhook_unusable_podprotector{podprotector="core/ns/p0"}'), [1, 0]);
  assert.equal(recorded.count("webhook_unusable_podprotector"), 1_001);
  assert.equal(recorded.count('ppr_index_error{error="Invalid"}'), 1_200);
});

test("webhook metrics tell at each scrape how many reviews are being decided", async () => {
  const registry = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  let count = 3;
  createWebhookMetrics(registry, cells).readReviewsInFlight(() => count);
  assert.match((await registry.expose()).text, /^webhook_reviews_in_flight 3$/m);
  count = 0;
  assert.match((await registry.expose()).text, /^webhook_reviews_in_flight 0$/m);
});

test("webhook metrics tell at each scrape how many PodProtectors are in memory", async () => {
  const registry = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  createWebhookMetrics(registry, cells).readProtectors("core", () => 7);
  assert.match((await registry.expose()).text, /^webhook_podprotectors\{core="core"\} 7$/m);
});

test("webhook metrics use upstream's words for the pool", () => {
  const recorded = new RecordedMetrics();
  const { retryBatch } = createWebhookMetrics(recorded, cells);
  const error = new KubeError("forbidden", "no");
  const event = { key: "k", durationMs: 5, attempts: 2 };
  retryBatch.onSubmit({ ...event, outcome: { kind: "done", result: 1 } });
  retryBatch.onSubmit({ ...event, outcome: { kind: "failed", error } });
  retryBatch.onSubmit({ ...event, outcome: { kind: "cancelled" } });
  retryBatch.onSubmit({ ...event, outcome: { kind: "overloaded" } });
  retryBatch.onExecute({ ...event, size: 3, outcome: { kind: "success", results: [] } });
  retryBatch.onExecute({ ...event, size: 3, outcome: { kind: "retry", delayMs: 1 } });
  retryBatch.onExecute({ ...event, size: 3, outcome: { kind: "error", error } });
  retryBatch.onBatch(event);
  retryBatch.onInflightKeys(4);
  const pool = 'pool="podprotector-update"';
  for (const [text, value] of [
    [`retrybatch_submit{${pool},error="nil"}`, 0.005],
    [`retrybatch_submit{${pool},error="forbidden"}`, 0.005],
    [`retrybatch_submit{${pool},error="OpCtxCancelDuringRetry"}`, 0.005],
    [`retrybatch_submit_retry_count{${pool},error="Overloaded"}`, 2],
    [`retrybatch_execute_batch_size{${pool},result="Success",error="nil"}`, 3],
    [`retrybatch_execute{${pool},result="NeedRetry",error="nil"}`, 0.005],
    [`retrybatch_execute{${pool},result="Err",error="forbidden"}`, 0.005],
    [`retrybatch_batch{${pool}}`, 0.005],
    [`retrybatch_batch_retry_count{${pool}}`, 2],
    [`retrybatch_inflight_keys{${pool}}`, 4],
  ] as const) {
    assert.deepEqual(recorded.values.get(text), [value], text);
  }
});

test("webhook metrics count the tombstones of a core at each scrape", async () => {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  let count = 2;
  createWebhookMetrics(metrics, cells).readTombstones("core", () => count);
  assert.match((await metrics.expose()).text, /webhook_tombstones\{core="core"\} 2/);
  count = 0;
  assert.match((await metrics.expose()).text, /webhook_tombstones\{core="core"\} 0/);
});
