import assert from "node:assert/strict";
import { test } from "node:test";
import { createHealthApp } from "../../../src/server/health-server.ts";
import { createHealth } from "../../../src/observability/health.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";

function createApp() {
  const options = { logger: silentLogger, metrics: silentMetrics };
  const [readiness, liveness] = [createHealth(options), createHealth(options)];
  readiness.register("aggregator-worker/pod-informer-0-synced", () => "not listed");
  readiness.register("healthz/phase", () => undefined);
  liveness.register("ping", () => undefined);
  const app = createHealthApp(readiness, liveness);
  return async (path: string): Promise<readonly [number, string]> => {
    const response = await app.request(path);
    return [response.status, await response.text()];
  };
}

test("readiness runs every check, liveness only proves that the process responds", async () => {
  const get = createApp();
  assert.equal((await get("/readyz"))[0], 500);
  assert.deepEqual(await get("/livez"), [200, "ok"]);
  assert.deepEqual(await get("/healthz"), [200, "ok"]);
  assert.deepEqual(await get("/livez?verbose"), [200, "[+]ping ok\nhealthz check passed\n"]);
  assert.deepEqual(await get("/livez/ping"), [200, "ok"]);
});

test("the root leads to the paths, each of which exists", async () => {
  const get = createApp();
  const [status, text] = await get("/");
  assert.equal(status, 200);
  const paths = [...text.matchAll(/\/[a-z]+(?:\?verbose)?(?=[\s,])/g)].map(([path]) => path);
  assert.deepEqual(paths, ["/readyz", "/readyz?verbose", "/livez", "/healthz"]);
  for (const path of paths) assert.notEqual((await get(path))[0], 404, path);
  assert.match((await get("/readyz?verbose"))[1], /^\[-\]aggregator-worker\S+ failed: not listed$/m);
});

test("checks can be excluded, several too", async () => {
  const get = createApp();
  assert.deepEqual(await get("/readyz?exclude=aggregator-worker/pod-informer-0-synced"), [200, "ok"]);
  const [status, text] = await get(
    "/readyz?verbose=1&exclude=healthz/phase&exclude=aggregator-worker%2Fpod-informer-0-synced",
  );
  assert.equal(status, 200);
  assert.match(text, /excluded: ok\n.*excluded: ok\n/);
});

test("a single check has a path of its own, and unknown paths do not exist", async () => {
  const get = createApp();
  assert.deepEqual(await get("/readyz/aggregator-worker/pod-informer-0-synced"), [
    500,
    "internal server error: not listed\n",
  ]);
  assert.deepEqual(await get("/readyz/healthz/phase"), [200, "ok"]);
  for (const path of ["/readyz/x", "/metrics", "/readyzz"]) assert.equal((await get(path))[0], 404, path);
});
