import assert from "node:assert/strict";
import { test } from "node:test";
import { CellWriter } from "../../../../src/aggregator/counting/cell-writer.ts";
import { createAggregatorMetrics } from "../../../../src/aggregator/metrics.ts";
import { ProtectorMemory } from "../../../../src/accounting/count/protector-memory.ts";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { longAgo } from "../../../../src/util/clock.ts";
import { marks } from "../../accounting/samples.ts";
import { at } from "../../../support/moment.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { counts, storedProtector } from "../protectors.ts";

const { signal } = new AbortController();
const cell = { cellID: "cell-1", aggregation: counts("100"), admissionHistory: {} };

function bench(answer: (request: KubeRequest) => unknown) {
  const core = createScriptedKubeClient();
  core.onRequest = (request) => {
    const answered = answer(request);
    if (answered instanceof Error) throw answered;
    return answered;
  };
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const counting = createCountingMetrics();
  const sent: (readonly [bytes: number, cells: number])[] = [];
  const budget = { wrote: (_key: unknown, bytes: number, cells: number) => void sent.push([bytes, cells]) };
  const tookMs: number[] = [];
  const pace = { took: (ms: number) => void tookMs.push(ms) };
  const writer = new CellWriter({ core, budget, pace, clock, logger, metrics: createAggregatorMetrics(counting) });
  const state = new ProtectorMemory(
    storedProtector(10),
    "selector",
    { cellID: "cell-1", marks, blindUntilMs: longAgo },
    at(0),
  );
  return { core, clock, logger, metrics: counting, sent, tookMs, writer, state };
}

test("an accepted write becomes the newest state and counts what it settled", async () => {
  const stored = storedProtector(11, { aggregation: { ...counts("100"), countedSpec: "spec" } });
  const { writer, state, metrics, logger, tookMs } = bench(() => stored.protector);
  const outcome = await writer.write(state, cell, new Map([["gone", 2]]), signal);
  assert.deepEqual(outcome, { kind: "done" });
  assert.deepEqual(tookMs, [0], "the pace hears how long it took");
  assert.equal(state.newest.resourceVersion, "11");
  assert.equal(metrics.value("aggregator_settled_total", { reason: "gone" }), 2);
  assert.equal(metrics.value("aggregator_status_write_total", { result: "written" }), 1);
  assert.deepEqual(logger.entries, []);
});

test("admissions whose fences were given up are counted among the fences as well", async () => {
  const stored = storedProtector(11, { aggregation: { ...counts("100"), countedSpec: "spec" } });
  const { writer, state, metrics } = bench(() => stored.protector);
  await writer.write(state, cell, new Map([["gave-up", 3]]), signal);
  assert.equal(metrics.value("aggregator_settled_total", { reason: "gave-up" }), 3);
  assert.equal(metrics.value("aggregator_fence_total", { result: "gave-up" }), 3);
});

test("the budget hears of each status that is sent, how large it is and of how many cells", async () => {
  const { writer, state, sent } = bench(() => new KubeError("tooManyRequests", "not now"));
  await writer.write(state, cell, new Map(), signal);
  assert.equal(sent.length, 1);
  assert.ok((sent[0]?.[0] ?? 0) > 100);
  assert.equal(sent[0]?.[1], 1);
});

test("after a conflict the live object is the newest state, and nothing has settled", async () => {
  const live = storedProtector(12);
  const { writer, state, metrics } = bench(({ method }) =>
    method === "GET" ? live.protector : new KubeError("conflict", "somebody else was first"),
  );
  const outcome = await writer.write(state, cell, new Map([["gone", 2]]), signal);
  assert.deepEqual(outcome, { kind: "conflict" });
  assert.equal(state.newest.resourceVersion, "12");
  assert.equal(metrics.value("aggregator_settled_total", { reason: "gone" }), 0);
});

test("an object that is gone or was replaced is left to the watch, by a write as by a live read", async () => {
  for (const live of [new KubeError("notFound", "gone"), storedProtector(12, { uid: "uid-of-another" }).protector]) {
    const { writer, state } = bench(({ method }) => (method === "GET" ? live : new KubeError("conflict", "no")));
    assert.deepEqual(await writer.write(state, cell, new Map(), signal), { kind: "done" });
    assert.deepEqual(await writer.refresh(state, signal), { kind: "done" });
    assert.equal(state.newest.resourceVersion, "10");
  }
});

test("a live read ends the reconciliation only when it fails", async () => {
  const error = new KubeError("timeout", "no answer");
  const failing = bench(() => error);
  assert.deepEqual(await failing.writer.refresh(failing.state, signal), { kind: "failed", error });
  const working = bench(() => storedProtector(12).protector);
  working.state.relisted(at(1));
  assert.equal(await working.writer.refresh(working.state, signal), undefined);
  assert.equal(working.state.needsLiveRead, false);
  assert.equal(working.state.newest.resourceVersion, "12");
});

test("dropped extension fields are counted each time, and logged once an hour for all PodProtectors", async () => {
  const { core, writer, state, clock, logger, metrics } = bench(() => storedProtector(11).protector);
  for (let minute = 0; minute < 150; minute++) {
    for (let write = 0; write < 10; write++) await writer.write(state, cell, new Map(), signal);
    await clock.advance(60_000);
  }
  assert.equal(metrics.value("extension_fields_pruned_total", { role: "aggregator", core: core.cluster }), 1500);
  assert.deepEqual(
    logger.entries.map(({ level, fields }) => [level, fields["podProtector"]]),
    [
      ["warn", "default/web"],
      ["warn", "default/web"],
      ["warn", "default/web"],
    ],
  );
});
