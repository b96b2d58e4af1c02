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
