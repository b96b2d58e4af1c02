import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import {
  createServer,
  createHealthApp,
  createMetricsApp,
  createProfilesApp,
} from "../../../src/server/server-component.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createPem, temporaryFolder, writePem } from "./certificates.ts";
import { createHealth } from "../../../src/observability/health.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { type Profile } from "../../../src/observability/profiler.ts";

const http = { enable: true, bindAddress: "127.0.0.1", port: 0, portFlag: "x-port" };
const common = {
  name: "x",
  fetch: () => new Response("hello"),
  connectionsMax: 10,
  graceMs: 0,
};

/** The ports that were opened, in that order, as the log says. */
function opened({ entries }: ReturnType<typeof createRecordingLogger>): number[] {
  return entries.filter(({ message }) => message === "Listening").map(({ fields }) => Number(fields["port"]));
}

/** Whether anything accepts connections on a port of this host. */
function isOpen(port = 0): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const settle = (isAccepted: boolean): void => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once("connect", () => settle(true)).once("error", () => settle(false));
  });
}

test("both listeners run when both are enabled, and none afterwards", async (t) => {
  const files = writePem(temporaryFolder(t), await createPem("x"));
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const server = createServer({
    ...common,
    clock,
    logger,
    config: { http, https: { ...http, portFlag: "x-https-port", ...files }, readHeaderTimeoutMs: 1000 },
  });
  assert.deepEqual(opened(logger), []);
  await server.start();
  const [plain, secure, ...more] = opened(logger);
  assert.equal(more.length, 0);
  assert.notEqual(plain, secure);
  assert.deepEqual([await isOpen(plain), await isOpen(secure)], [true, true]);
  assert.equal(await (await fetch(`http://127.0.0.1:${plain}/`)).text(), "hello");
  server.disableKeepAlive();
  assert.equal((await fetch(`http://127.0.0.1:${plain}/`)).headers.get("connection"), "close");
  await server.stop();
  assert.deepEqual([await isOpen(plain), await isOpen(secure)], [false, false]);
  assert.equal(clock.pendingTimers, 0);
});

test("a disabled server starts without listening", async () => {
  const off = { ...http, enable: false };
  const config = { http: off, https: { ...off, certFile: "", keyFile: "" }, readHeaderTimeoutMs: 1000 };
  const logger = createRecordingLogger();
  const server = createServer({ ...common, clock: createVirtualClock(), logger, config });
  await server.start();
  assert.deepEqual(opened(logger), []);
  await server.stop();
});

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

function appOf(profile: Profile): {
  readonly app: ReturnType<typeof createProfilesApp>;
  readonly seconds: number[];
} {
  const seconds: number[] = [];
  const cpu = async (asked: number): Promise<Profile> => {
    seconds.push(asked);
    return profile;
  };
  return { app: createProfilesApp({ cpu, heap: async () => profile }), seconds };
}

const found: Profile = { kind: "profile", text: "{}" };

test("a profile is a file to save, which no cache keeps", async () => {
  const { app, seconds } = appOf(found);
  for (const [path, name] of [
    ["/debug/pprof/profile?seconds=3", "profile.cpuprofile"],
    ["/debug/pprof/heap", "heap.heapprofile"],
  ] as const) {
    const response = await app.request(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("content-disposition"), `attachment; filename="${name}"`);
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(await response.text(), "{}");
  }
  assert.deepEqual(seconds, [3]);
});

test("without a number it takes 30 seconds, and a number out of bounds is told what is allowed", async () => {
  const { app, seconds } = appOf(found);
  await app.request("/debug/pprof/profile");
  assert.deepEqual(seconds, [30]);
  for (const bad of ["0", "61", "-1", "1.5", "", "x", "9".repeat(30)]) {
    const response = await app.request(`/debug/pprof/profile?seconds=${bad}`);
    assert.equal(response.status, 400, bad);
    assert.match(await response.text(), /^seconds: ".*" is invalid; allowed: 1 to 60\n$/);
  }
  assert.deepEqual(seconds, [30]);
});

test("who comes while another profile is taken is told when to try again", async () => {
  const { app } = appOf({ kind: "busy", retryAfterMs: 2_100, reason: "a profile is being taken" });
  const response = await app.request("/debug/pprof/profile");
  assert.equal(response.status, 429);
  assert.equal(response.headers.get("retry-after"), "3");
  assert.equal(await response.text(), "a profile is being taken; try again in 3 s\n");
});

test("a profile that is too large is an error that says so", async () => {
  const response = await appOf({ kind: "tooLarge", bytes: 99 }).app.request("/debug/pprof/heap");
  assert.equal(response.status, 500);
  assert.match(await response.text(), /99 bytes.*fewer seconds/);
});

test("other paths of pprof are not there, and both the index and the error say what is", async () => {
  const { app } = appOf(found);
  assert.equal((await app.request("/debug/pprof/")).status, 200);
  for (const path of ["/", "/debug/pprof/cmdline", "/debug/pprof/goroutine"]) {
    const response = await app.request(path);
    assert.equal(response.status, 404, path);
    assert.match(await response.text(), /\/debug\/pprof\/profile\?seconds=30/);
  }
});
