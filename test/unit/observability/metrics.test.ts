import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../../../src/observability/metrics.ts";

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
