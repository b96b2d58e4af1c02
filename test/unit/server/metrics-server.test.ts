import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetricsApp } from "../../../src/server/metrics-server.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

test("every path serves the metrics", async () => {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  metrics.gauge("g", "Help.").set({}, 1);
  const app = createMetricsApp(metrics);
  for (const path of ["/", "/metrics", "/any/thing?x=1"]) {
    const response = await app.request(path);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    assert.match(await response.text(), /^g 1$/m);
  }
});

test("a browser that opens the root is led to the metrics; a scraper gets them there", async () => {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  metrics.gauge("g", "Help.").set({}, 1);
  const app = createMetricsApp(metrics);
  const get = async (accept: string): Promise<string> =>
    (await app.request("/", { headers: { Accept: accept } })).text();
  assert.match(await get("text/html,application/xhtml+xml,*/*;q=0.8"), /href="\/metrics"/);
  assert.match(await get("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.2"), /^g 1$/m);
});

test("scrapes at the same time share one, and the next has one of its own", async () => {
  let scrapes = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const app = createMetricsApp({
    ...metrics,
    async expose() {
      scrapes += 1;
      await promise;
      return { contentType: "text/plain", text: String(scrapes) };
    },
  });
  const ask = async (): Promise<Response> => app.request("/metrics");
  const both = [ask(), ask()];
  resolve();
  for (const response of await Promise.all(both)) assert.equal(await response.text(), "1");
  assert.equal(await (await app.request("/metrics")).text(), "2");
});

test("a scrape that fails does not stand in for the next one", async () => {
  let fails = true;
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  const expose = () => (fails ? Promise.reject(new Error("broken")) : metrics.expose());
  const app = createMetricsApp({ ...metrics, expose });
  app.onError((_error, context) => context.text("broken", 500));
  assert.equal((await app.request("/metrics")).status, 500);
  fails = false;
  assert.equal((await app.request("/metrics")).status, 200);
});
