import assert from "node:assert/strict";
import { test } from "node:test";
import { StartError } from "../../../src/lifecycle/component.ts";
import { createClients } from "../../../src/roles/runtime.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { loadGood } from "../config/load.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { sendJson, startLoopbackServer } from "../kube/transport/loopback-server.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

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
