import assert from "node:assert/strict";
import { test } from "node:test";
import { LabelSets, labelSetsMax } from "../../../src/observability/label-sets.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

const registry = () => createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
const names = ["a", "b"];

test("no control character of a label value reaches a scrape, whatever kind the metric has", async () => {
  const metrics = registry();
  const labels = { a: "\u0000x\u001b[31m\n", b: "\u007f" };
  metrics.counter("c", "Help.", names).inc(labels);
  metrics.gauge("g", "Help.", names).set(labels, 1);
  metrics.histogram("h", "Help.", names, [1]).observe(labels, 1);
  const { text } = await metrics.expose();
  assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f]/);
  for (const name of ["c", "g", "h_count"])
    assert.ok(text.includes(`${name}{a="\ufffdx\ufffd[31m\ufffd",b="\ufffd"} 1`), text);
});

test("a metric has at most 10,000 series, and one more for all others, whatever kind it has", async () => {
  const metrics = registry();
  const counter = metrics.counter("c", "Help.", names);
  const histogram = metrics.histogram("h", "Help.", names, []);
  for (let turn = 0; turn < 2; turn += 1) {
    for (let index = 0; index < labelSetsMax + 5; index += 1) {
      counter.inc({ a: String(index), b: "x" });
      histogram.observe({ a: String(index), b: "x" }, 1);
    }
  }
  const lines = (await metrics.expose()).text.split("\n");
  for (const name of ["c", "h_count"]) {
    assert.equal(lines.filter((line) => line.startsWith(`${name}{`)).length, labelSetsMax + 1);
    assert.ok(lines.includes(`${name}{a="0",b="x"} 2`));
    assert.ok(lines.includes(`${name}{a="other",b="other"} 10`));
  }
});

test("long values are cut, labels of others are left out, and usual ones stay as they are", () => {
  const sets = new LabelSets(names);
  assert.deepEqual(sets.shown({ a: "x".repeat(1_000_000), b: "ä", c: "z" }), { a: "x".repeat(512), b: "ä" });
  assert.deepEqual(sets.shown({ a: "1" }), { a: "1" });
});

test("a series that has ended makes room for another one, and for no more than that", async () => {
  const metrics = registry();
  const gauge = metrics.gauge("g", "Help.", ["a"]);
  for (let index = 0; index < labelSetsMax; index += 1) gauge.set({ a: String(index) }, 1);
  gauge.remove({ a: "0" });
  gauge.remove({ a: "never there" });
  gauge.set({ a: "new" }, 2);
  gauge.set({ a: "too many" }, 3);
  const lines = (await metrics.expose()).text.split("\n");
  assert.ok(!lines.some((line) => line.startsWith('g{a="0"}')));
  assert.ok(lines.includes('g{a="new"} 2'));
  assert.ok(lines.includes('g{a="other"} 3'));
});
