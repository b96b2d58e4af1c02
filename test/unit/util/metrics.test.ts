import assert from "node:assert/strict";
import { test } from "node:test";
import {
  asyncLatencySeconds,
  exponentialBuckets,
  functionDurationSeconds,
  withLabels,
} from "../../../src/util/metrics.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { Turns } from "../../../src/util/turns.ts";
import { KeysByNamespace } from "../../../src/util/keys-by-namespace.ts";

test("exponential buckets double from 1", () => {
  assert.deepEqual(exponentialBuckets(5), [1, 2, 4, 8, 16]);
  assert.deepEqual(exponentialBuckets(0), []);
});

test("bucket bounds rise strictly, as a histogram needs them", () => {
  for (const bounds of [functionDurationSeconds, asyncLatencySeconds, exponentialBuckets(20)]) {
    for (const [index, bound] of bounds.entries()) assert.ok(bound > (bounds[index - 1] ?? 0));
  }
});

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

test("a few of many names at a time have their turn, and none again before all have had one", () => {
  const turns = new Turns(2);
  const names = ["a", "b", "c", "a"];
  assert.deepEqual([turns.next(names), turns.next(names), turns.next(names)], [["a", "b"], ["c"], ["a", "b"]]);
});

test("names that come have their turn in the same round, and names that go are not waited for", () => {
  const turns = new Turns(1);
  assert.deepEqual(turns.next(["a", "b"]), ["a"]);
  assert.deepEqual(turns.next(["a", "c"]), ["c"]);
  assert.deepEqual(turns.next(["a"]), ["a"]);
  assert.deepEqual(turns.next([]), []);
});

test("keys are found by their namespace until they are taken away", () => {
  const keys = new KeysByNamespace<string>();
  for (const key of ["a", "b", "a"]) keys.add("shop", key);
  keys.add("bank", "c");
  assert.deepEqual([[...keys.of("shop")], [...keys.of("none")], [...keys.all()]], [["a", "b"], [], ["a", "b", "c"]]);
  keys.delete("shop", "a");
  keys.delete("shop", "c");
  keys.delete("none", "a");
  assert.deepEqual([...keys.of("shop")], ["b"]);
  keys.delete("shop", "b");
  assert.deepEqual([...keys.all()], ["c"]);
});
