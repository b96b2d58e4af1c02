import assert from "node:assert/strict";
import { test } from "node:test";
import { Histogram, Registry } from "prom-client";
import {
  createMetrics,
  showBuildInfo,
  createHeartbeat,
  LabelSets,
  labelSetsMax,
} from "../../../src/observability/metrics.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createHistogram } from "../../../src/observability/histogram.ts";

const quiet = { byNamespace: false, byUser: false, ofProcess: false };

test("counters, gauges and histograms appear in the text", async () => {
  const metrics = createMetrics(quiet);
  metrics.counter("c", "Help.", ["cell"]).inc({ cell: "a" }, 2);
  metrics.gauge("g", "Help.").set({}, 1.5);
  metrics.histogram("h", "Help.", ["pool"], [1, 2]).observe({ pool: "p" }, 1.5);
  const { text, contentType } = await metrics.expose();
  assert.match(contentType, /^text\/plain/);
  for (const line of [
    'c{cell="a"} 2',
    "g 1.5",
    'h_bucket{le="1",pool="p"} 0',
    'h_bucket{le="2",pool="p"} 1',
    'h_count{pool="p"} 1',
  ]) {
    assert(text.split("\n").includes(line), line);
  }
});

test("the labels namespace and user are dropped unless asked for, and their values add up", async () => {
  const metrics = createMetrics(quiet);
  const counter = metrics.counter("c", "Help.", ["namespace", "user", "cell"]);
  counter.inc({ namespace: "n", user: "u", cell: "a" });
  counter.inc({ namespace: "m", user: "v", cell: "a" });
  assert.match((await metrics.expose()).text, /^c\{cell="a"\} 2$/m);

  const detailed = createMetrics({ ...quiet, byNamespace: true });
  detailed.counter("c", "Help.", ["namespace", "user"]).inc({ namespace: "n", user: "u" });
  assert.match((await detailed.expose()).text, /^c\{namespace="n"\} 1$/m);
});

test("asking twice for a metric gives the same one, and another shape is a programmer error", async () => {
  const metrics = createMetrics(quiet);
  metrics.counter("c", "Help.", ["a"]).inc({ a: "x" });
  metrics.counter("c", "Help.", ["a"]).inc({ a: "x" });
  assert.match((await metrics.expose()).text, /^c\{a="x"\} 2$/m);
  assert.throws(() => metrics.counter("c", "Help.", ["b"]), /metric c is counter\(a\) and counter\(b\)/);
  assert.throws(() => metrics.gauge("c", "Help.", ["a"]), /metric c/);
});

test("samples run before each scrape, until they are over", async () => {
  const metrics = createMetrics(quiet);
  const gauge = metrics.gauge("g", "Help.");
  let value = 0;
  metrics.onScrape(() => gauge.set({}, ++value));
  const ended = new AbortController();
  metrics.onScrape(() => (value += 10), ended.signal);
  await metrics.expose();
  assert.match((await metrics.expose()).text, /^g 12$/m);
  ended.abort();
  assert.match((await metrics.expose()).text, /^g 23$/m);
});

test("two registries share nothing", async () => {
  createMetrics(quiet).counter("c", "Help.").inc();
  assert.equal((await createMetrics(quiet).expose()).text.trim(), "");
});

test("the process is measured when asked", async () => {
  const { text } = await createMetrics({ ...quiet, ofProcess: true }).expose();
  assert.match(text, /^process_resident_memory_bytes \d+/m);
  assert.match(text, /^nodejs_eventloop_lag_seconds/m);
});

test("a scrape tells which program it is", async () => {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  showBuildInfo(metrics, { version: "1.2.3", commit: "abc", nodeVersion: "v26.1.0" });
  const { text } = await metrics.expose();
  assert.match(text, /^podseidon_build_info\{version="1.2.3",commit="abc",node_version="v26.1.0"\} 1$/m);
});

test("the heartbeat is sampled at the start and then once in each period, until the stop", async () => {
  const clock = createVirtualClock();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const heartbeat = createHeartbeat({ clock, metrics, sampleFrequencyMs: 30_000 });
  const value = async (): Promise<string | undefined> => /^heartbeat (.+)$/m.exec((await metrics.expose()).text)?.[1];
  await clock.advance(2_000);
  await heartbeat.start();
  assert.equal(await value(), "2");
  await clock.advance(29_999);
  assert.equal(await value(), "2");
  await clock.advance(1);
  assert.equal(await value(), "32");
  await heartbeat.stop();
  assert.equal(clock.pendingTimers, 0);
});

test("each scrape has the wall clock of its moment, so that a scraper can compare it with its own", async () => {
  const clock = createVirtualClock();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  createHeartbeat({ clock, metrics, sampleFrequencyMs: 30_000 });
  const value = async (): Promise<number> =>
    Number(/^wall_clock_seconds (.+)$/m.exec((await metrics.expose()).text)?.[1]);
  const before = await value();
  assert.equal(before, clock.epochMicros() / 1e6);
  await clock.advance(1_500);
  assert.equal((await value()) - before, 1.5);
});

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
