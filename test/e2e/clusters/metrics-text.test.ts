import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricsText } from "./metrics-text.ts";

const text = `# HELP requests_total Requests
# TYPE requests_total counter
requests_total{code="200",path="/a"} 3
requests_total{code="200",path="/b"} 4 1700000000000
requests_total{code="409",path="say \\"x\\", {y}\\n"} 1e2
up 1
ratio_bucket{le="+Inf"} +Inf
`;

test("a value is the sum of the samples that have all the wanted labels", () => {
  const metrics = new MetricsText(text);
  assert.equal(metrics.value("requests_total", { code: "200" }), 7);
  assert.equal(metrics.value("requests_total", { code: "200", path: "/b" }), 4);
  assert.equal(metrics.value("requests_total"), 107);
  assert.equal(metrics.value("up"), 1);
});

test("a metric or a label value that is not there is undefined, not 0", () => {
  const metrics = new MetricsText(text);
  assert.equal(metrics.value("requests"), undefined);
  assert.equal(metrics.value("requests_total", { code: "500" }), undefined);
});

test("escapes, braces in label values and infinity are read", () => {
  const metrics = new MetricsText(text);
  assert.equal(metrics.samples("requests_total", { code: "409" })[0]?.labels["path"], 'say "x", {y}\n');
  assert.equal(metrics.value("ratio_bucket"), Infinity);
});
