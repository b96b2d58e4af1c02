import assert from "node:assert/strict";
import { test } from "node:test";
import { showBuildInfo } from "../../../src/observability/build-info.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";

test("a scrape tells which program it is", async () => {
  const metrics = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  showBuildInfo(metrics, { version: "1.2.3", commit: "abc", nodeVersion: "v26.1.0" });
  const { text } = await metrics.expose();
  assert.match(text, /^podseidon_build_info\{version="1.2.3",commit="abc",node_version="v26.1.0"\} 1$/m);
});
