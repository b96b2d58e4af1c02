import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram, Registry } from "prom-client";
import { createHistogram } from "../../../src/observability/histogram.ts";

const buckets = [0.1, 0.5, 1];

/** What a scrape shows of our histogram and of prom-client's, line by line in the order of the alphabet. */
async function scrapes(labelNames: readonly string[], observations: readonly [Record<string, string>, number][]) {
  const [own, theirs] = [new Registry(), new Registry()];
  const options = { name: "h", help: "Help.", labelNames };
  const histogram = createHistogram({ ...options, buckets, shown: (labels) => labels });
  own.registerMetric(histogram.metric);
  const reference = new Histogram({ ...options, labelNames: [...labelNames], buckets, registers: [theirs] });
  for (const [labels, value] of observations) {
    histogram.observe(labels, value);
    reference.observe(labels, value);
  }
  const lines = async (registry: Registry): Promise<string[]> =>
    (await registry.metrics()).trim().split("\n").toSorted();
  return { own: await lines(own), theirs: await lines(theirs) };
}

test("a scrape shows what prom-client's own histogram would show", async () => {
  const values = [0, 0.05, 0.1, 0.2, 0.5, 0.9, 1, 1.5, 1000];
  for (const labelNames of [[], ["a"], ["a", "b", "c"]]) {
    const observations = values.map((value, index): [Record<string, string>, number] => [
      Object.fromEntries(labelNames.map((name, place) => [name, `${name}${index % (place + 2)}`])),
      value,
    ]);
    const { own, theirs } = await scrapes(labelNames, observations);
    assert.deepEqual(own, theirs);
  }
});

test("a histogram without labels is there before anything was observed", async () => {
  const { own, theirs } = await scrapes([], []);
  assert.deepEqual(own, theirs);
  assert.ok(own.includes("h_count 0"));
});

test("label values that look alike when joined stay apart, and control characters cannot forge a line", async () => {
  const { own, theirs } = await scrapes(
    ["a", "b"],
    [
      [{ a: "x,y", b: "z" }, 1],
      [{ a: "x", b: "y,z" }, 1],
      [{ a: 'evil"} 1\nforged 2', b: "\\" }, 1],
    ],
  );
  assert.deepEqual(own, theirs);
  assert.equal(own.filter((line) => line.startsWith("h_count")).length, 3);
  assert.equal(own.filter((line) => line.startsWith("forged")).length, 0);
});

test("a value that is not a number is a programmer error", () => {
  const histogram = createHistogram({ name: "h", help: "Help.", labelNames: [], buckets, shown: () => ({}) });
  assert.throws(() => histogram.observe({}, Number.NaN), /h observes NaN/);
});
