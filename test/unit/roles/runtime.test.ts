import assert from "node:assert/strict";
import { test } from "node:test";
import { StartError } from "../../../src/lifecycle/component.ts";
import { createClients, connectCores, coreMetrics, coreSuffix } from "../../../src/roles/runtime.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { loadGood, load, type World } from "../config/load.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { sendJson, startLoopbackServer } from "../kube/transport/loopback-server.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../support/virtual-clock.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { withRig } from "../aggregator/rig.ts";
import { createEngineRuntime } from "./engine-runtime.ts";
import { createProfiles } from "../../../src/roles/profiles.ts";
import { createServer } from "../../../src/server/index.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createSettingsReload } from "../../../src/roles/settings-reload.ts";

const create = (...argv: string[]) => createFor("aggregator", ...argv);

function createFor(role: string, ...argv: string[]) {
  const config = loadGood([`--role=${role}`, ...argv]);
  const clients = createClients({
    config,
    clock: createVirtualClock(),
    rng: createSeededRng(1),
    logger: silentLogger,
    metrics: silentMetrics,
  });
  return { config, clients };
}
const reachable = ["--core-kube-master=http://127.0.0.1:1", "--worker-kube-master=http://127.0.0.1:1"];

test("all roles share one client of each cluster", async () => {
  const { clients } = create(...reachable);
  const [core, again, worker] = await Promise.all([clients.core("core"), clients.core("core"), clients.worker()]);
  assert.equal(core, again);
  assert.notEqual(core, worker);
  assert.equal(core.cluster, "core");
  assert.equal(await clients.core("core"), core);
  await clients.stop();
});

test("one name for two clusters is a programmer error", async () => {
  const { clients, config } = create(...reachable);
  await clients.core("core");
  assert.throws(() => clients.connect("core", config.worker), /two clusters have the name core/);
  await clients.stop();
});

test("a client that cannot be created rejects with a StartError, and the stop continues", async () => {
  const { clients } = create("--core-kube-config=/does/not/exist");
  await assert.rejects(clients.core("core"), StartError);
  await clients.stop();
});

test("each of several cores has clients of its own, with its name, also for heartbeats and the election", async () => {
  const { clients } = create(
    "--worker-kube-master=http://127.0.0.1:1",
    "--podprotector-source-provider=map",
    "--podprotector-source-provider.map-configs=core=,heartbeat=",
    "--podprotector-source-provider.map-masters=core=http://127.0.0.1:1,heartbeat=http://127.0.0.1:2",
  );
  const all = await Promise.all([
    clients.core("core"),
    clients.core("heartbeat"),
    clients.coreHeartbeat("core"),
    clients.coreHeartbeat("heartbeat"),
    clients.coreElection("core"),
    clients.coreElection("heartbeat"),
  ]);
  assert.deepEqual(
    all.map(({ cluster }) => cluster),
    [
      "core",
      "core/heartbeat",
      "core-heartbeat",
      "core-heartbeat/heartbeat",
      "core-election",
      "core-election/heartbeat",
    ],
  );
  assert.throws(() => clients.core("west"), /no core has the name west/);
  await clients.stop();
});

test("the client of each worker cluster has a rate limit of its own, one API server or not", async (t) => {
  const server = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, {}));
  const url = `http://127.0.0.1:${server.port}`;
  const { clients, config } = createFor(
    "webhook",
    "--core-kube-master=http://127.0.0.1:1",
    "--webhook-worker-client-provider=map",
    "--webhook-worker-client-provider.map-configs=a=,b=",
    `--webhook-worker-client-provider.map-masters=a=${url},b=${url}`,
    "--webhook-worker-client-provider.map-qps=1",
    "--webhook-worker-client-provider.map-burst=1",
  );
  const provider = config.webhook.workerClientProvider;
  assert.ok(provider.kind === "map");
  const [a, b] = await Promise.all([...provider.clusters].map(([cell, cluster]) => clients.connect(cell, cluster)));
  const read = { method: "GET", path: "/x", timeoutMs: 500 } as const;
  await a!.request(read);
  await assert.rejects(a!.request(read), /limit of 1 requests/);
  await b!.request(read);
  assert.equal(server.requests.length, 2);
  await clients.stop();
});

test("a request of an election waits neither for the rate limit nor for connections of other requests", async (t) => {
  const server = await startLoopbackServer(t, ({ url = "" }, response) => {
    if (url.includes("/leases/")) sendJson(response, 200, { kind: "Lease" });
  });
  const master = `http://127.0.0.1:${server.port}`;
  const { clients } = create(`--core-kube-master=${master}`, `--worker-kube-master=${master}`);
  const others = await Promise.all([clients.core("core"), clients.coreHeartbeat("core"), clients.worker()]);
  const giveUp = new AbortController();
  const unanswered = Promise.allSettled(
    others.flatMap((client) =>
      Array.from({ length: 1_000 }, () =>
        client.request({ method: "GET", path: "/api/v1/pods", timeoutMs: 1e9, signal: giveUp.signal }),
      ),
    ),
  );
  for (const election of [await clients.coreElection("core"), await clients.workerElection()]) {
    const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/mine";
    assert.deepEqual(await election.request({ method: "GET", path }), { kind: "Lease" });
  }
  giveUp.abort();
  await clients.stop();
  assert.ok((await unanswered).every(({ status }) => status === "rejected"));
});

const two = [
  "--podprotector-source-provider=map",
  "--podprotector-source-provider.map-configs=core=,east=/east",
  "--core-kube-target-namespace=ns",
];

test("a role connects to every core that is configured, by its name", () =>
  withRig(async (rig) => {
    const east = new EngineClient("core/east", rig.coreEngine);
    const runtime = createEngineRuntime(rig, ["--role=aggregator", ...two], 1, new Map([["east", east]]));
    const cores = await connectCores(runtime);
    assert.deepEqual(
      cores.map(({ name, client, namespace }) => [name, client.cluster, namespace]),
      [
        ["core", "core", "ns"],
        ["east", "core/east", "ns"],
      ],
    );
    assert.equal(coreSuffix(runtime.config, "east"), "-east");
  }));

test("names of health checks and labels of metrics are upstream's while there is one core", () =>
  withRig(async (rig) => {
    const one = createEngineRuntime(rig, ["--role=aggregator"]);
    assert.equal(coreSuffix(one.config, "core"), "");
    assert.equal(coreMetrics(one, "core"), one.metrics);
    const several = createEngineRuntime(rig, ["--role=aggregator", ...two]);
    coreMetrics(several, "east").counter("writes", "help").inc();
    assert.equal(several.metrics.value("writes", { core: "east" }), 1);
  }));

/** Turns of the event loop until the profile has begun (1 timer) or ended (0). */
async function untilTimers(clock: VirtualClock, count: number): Promise<void> {
  while (clock.pendingTimers !== count) await drainMicrotasks();
}

function profilesOf(flags: readonly string[]) {
  const [clock, logger] = [createVirtualClock(), createRecordingLogger()];
  const { pprof } = loadGood(["--role=generator", "--pprof-bind-addr=127.0.0.1", "--pprof-port=0", ...flags]);
  const limits = { connectionsMax: 10, isReusable: false, graceMs: 0, clock, logger };
  const listen: Parameters<typeof createProfiles>[1]["createServer"] = (options) =>
    createServer({ ...options, ...limits });
  const component = createProfiles(pprof, { clock, createServer: listen });
  const ports = (): number[] =>
    logger.entries.filter(({ message }) => message === "Listening").map(({ fields }) => Number(fields["port"]));
  return { clock, component, ports };
}

test("profiles are off unless a flag asks for them", async () => {
  const { component, ports } = profilesOf([]);
  await component.start();
  assert.deepEqual(ports(), []);
  await component.stop();
});

test("with the flag of the original they are served, and a client that goes away ends its profile", async () => {
  const { clock, component, ports } = profilesOf(["--pprof-enable"]);
  await component.start();
  const url = `http://127.0.0.1:${ports()[0]}/debug/pprof`;
  const client = new AbortController();
  const gone = fetch(`${url}/profile?seconds=60`, { signal: client.signal });
  await untilTimers(clock, 1);
  assert.equal((await fetch(`${url}/profile?seconds=1`)).status, 429);
  client.abort();
  await assert.rejects(gone);
  await untilTimers(clock, 0);
  const heap = await fetch(`${url}/heap`);
  assert.equal(heap.status, 200);
  assert.ok("head" in ((await heap.json()) as object));
  await component.stop();
});

const argv = ["--role=webhook", "--config=f"];
const world = (text: string): World => ({ files: { f: text } });

/** A process that has started with a file; `hangUp` plays SIGHUP with the file's new text. */
async function started(text: string) {
  const first = load(argv, world(text));
  assert(first.kind === "config");
  const logger = createRecordingLogger();
  const applied: number[] = [];
  let next = text;
  const listeners = new Set<() => void>();
  const component = createSettingsReload({
    load: () => load(argv, world(next)),
    effective: first.effective,
    applyVerbosity: (verbosity) => applied.push(verbosity),
    logger,
    onHangup(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  await component.start();
  const hangUp = (newText: string): void => {
    next = newText;
    for (const listener of listeners) listener();
  };
  return { component, logger, applied, hangUp };
}

test("a hang-up applies another verbosity, each time it has changed", async () => {
  const { applied, hangUp } = await started("klog-v: 1");
  hangUp("klog-v: 4");
  hangUp("klog-v: 4");
  hangUp("");
  assert.deepEqual(applied, [4, 0]);
});

test("other settings that have changed are named, and not applied", async () => {
  const { applied, hangUp, logger } = await started("webhook-port: 1\nwebhook-allowed-cells: [a]");
  hangUp("webhook-port: 2\nwebhook-allowed-cells: a");
  assert.deepEqual(applied, []);
  assert.deepEqual(logger.entries.at(-1)?.fields["needsRestart"], ["webhook-port"]);
});

test("a mistake keeps the old settings and is told", async () => {
  const { applied, hangUp, logger } = await started("klog-v: 1");
  hangUp("klog-v: 4\nnope: 1");
  assert.deepEqual(applied, []);
  assert.equal(logger.entries.at(-1)?.message, "Settings not reloaded, keeping the old ones");
});

test("nobody listens after the stop", async () => {
  const { applied, component, hangUp } = await started("klog-v: 1");
  await component.stop();
  hangUp("klog-v: 4");
  assert.deepEqual(applied, []);
});
