import assert from "node:assert/strict";
import { test } from "node:test";
import { CoverageReport } from "../../../../src/aggregator/counting/coverage-report.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

const minute = 60_000;

function bench() {
  const clock = createVirtualClock();
  const metrics = createCountingMetrics();
  const logger = new RecordedLog();
  const byKind = new Map<string, number>();
  const state = { isKnown: true, unmatched: [] as string[] };
  const report = new CoverageReport({
    coverage: {
      byKind,
      get size() {
        return [...byKind.values()].reduce((sum, pods) => sum + pods, 0);
      },
      some: (max) => ["shop/web-0 (Deployment)"].slice(0, max),
    },
    isKnown: () => state.isKnown,
    unmatched: () => state.unmatched,
    clock,
    logger,
    metrics,
  });
  const lead = (): AbortController => {
    const term = new AbortController();
    void report.run(term.signal);
    return term;
  };
  const told = (): string[] =>
    logger.lines.splice(0).map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`);
  return { clock, metrics, byKind, state, lead, told };
}

test("the gauge has uncovered pods by kind, also 0 again, and nothing before everything was listed", () => {
  const { metrics, byKind, state } = bench();
  state.isKnown = false;
  byKind.set("Deployment", 3);
  metrics.scrape();
  assert.equal(metrics.value("aggregator_uncovered_pods", { kind: "Deployment" }), 0);
  state.isKnown = true;
  metrics.scrape();
  assert.equal(metrics.value("aggregator_uncovered_pods", { kind: "Deployment" }), 3);
  byKind.set("Deployment", 0);
  metrics.scrape();
  assert.equal(metrics.value("aggregator_uncovered_pods", { kind: "Deployment" }), 0);
});

test("the leader tells a minute after it began, then only what has changed, at most every ten minutes", async () => {
  const { clock, byKind, state, lead, told } = bench();
  byKind.set("Deployment", 3).set("StatefulSet", 0);
  state.unmatched = ["core/shop/api"];
  const term = lead();
  await clock.advance(minute - 1);
  assert.deepEqual(told(), []);
  await clock.advance(1);
  assert.deepEqual(told(), [
    'Pods are protected by no PodProtector {"pods":3,"kinds":{"Deployment":3},"some":["shop/web-0 (Deployment)"]}',
    'PodProtectors match no pod {"podProtectors":1,"some":["core/shop/api"]}',
  ]);
  await clock.advance(60 * minute);
  assert.deepEqual(told(), []);
  byKind.set("Deployment", 2);
  state.unmatched = [];
  await clock.advance(10 * minute);
  assert.deepEqual(told(), [
    'Pods are protected by no PodProtector {"pods":2,"kinds":{"Deployment":2},"some":["shop/web-0 (Deployment)"]}',
  ]);
  byKind.set("Deployment", 0);
  await clock.advance(10 * minute);
  assert.deepEqual(told(), ["Every pod is protected by a PodProtector again, and every PodProtector matches pods {}"]);
  term.abort();
  await clock.advance(0);
  assert.equal(clock.pendingTimers, 0);
});

test("nothing is told while a core is not listed, when all is well from the start, or after the term", async () => {
  const { clock, byKind, state, lead, told } = bench();
  state.isKnown = false;
  byKind.set("Deployment", 3);
  const term = lead();
  await clock.advance(30 * minute);
  byKind.set("Deployment", 0);
  state.isKnown = true;
  await clock.advance(30 * minute);
  term.abort();
  byKind.set("Deployment", 3);
  await clock.advance(30 * minute);
  assert.deepEqual(told(), []);
});

test("of many PodProtectors that match nothing ten are named", async () => {
  const { clock, state, lead, told } = bench();
  state.unmatched = Array.from({ length: 5_000 }, (_, index) => `core/shop/p${index}`);
  const term = lead();
  await clock.advance(minute);
  const [line = ""] = told();
  assert.match(line, /"podProtectors":5000,/);
  assert.equal(line.split("core/shop/").length - 1, 10);
  term.abort();
});
