import assert from "node:assert/strict";
import { test } from "node:test";
import { withLabels } from "../../../src/util/labelled-metrics.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";

test("metrics of one of several things carry its label, besides their own", () => {
  const metrics = createCountingMetrics();
  for (const core of ["east", "west"]) {
    const labelled = withLabels(metrics, { core });
    labelled.counter("writes", "help", ["result"]).inc({ result: "ok" }, core === "east" ? 1 : 2);
    labelled.gauge("size", "help").set({}, core.length);
    const ended = labelled.gauge("ended", "help");
    ended.set({}, 1);
    if (core === "west") ended.remove({});
    labelled.onScrape(() => labelled.gauge("age", "help", ["core"]).set({ core: "other" }, 7));
  }
  metrics.scrape();
  assert.equal(metrics.value("writes", { core: "west", result: "ok" }), 2);
  assert.equal(metrics.value("size", { core: "east" }), 4);
  assert.equal(metrics.value("ended", { core: "east" }), 1);
  assert.equal(metrics.value("ended", { core: "west" }), 0);
  assert.equal(metrics.value("age", { core: "east" }), 7, "a label of both has the value of the thing");
});
