import assert from "node:assert/strict";
import { test } from "node:test";
import { type HealthCheck } from "../../../src/lifecycle/component.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { createGenerator } from "../../../src/roles/generator.ts";
import { builtInResources } from "../../double/index.ts";
import { loadGood } from "../config/load.ts";
import { createCore, isInForce, type Core } from "../generator/core-cluster.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";

/** The role of one process, as main puts it together, against a core in the double. */
async function createProcess(core: Core, seed: number, ...argv: string[]) {
  const client = new EngineClient("core", core.engine);
  const leases = new EngineClient("core-heartbeat", core.engine);
  const election = new EngineClient("core-election", core.engine);
  const checks = new Map<string, HealthCheck>();
  const logger = createRecordingLogger();
  const [component, ...more] = await createGenerator({
    config: loadGood(["--role=generator", ...argv]),
    productVersion: "1.0.0",
    clock: core.clock,
    rng: createSeededRng(seed),
    logger,
    metrics: createCountingMetrics(),
    health: { register: (name, check) => void checks.set(name, check) },
    createServer: () => assert.fail("a generator listens nowhere"),
    clients: {
      core: async () => client,
      coreHeartbeat: async () => leases,
      coreElection: async () => election,
      worker: () => assert.fail("a generator has no worker"),
      workerElection: () => assert.fail("a generator has no worker"),
      connect: () => assert.fail("a generator has one core"),
    },
  });
  assert.ok(component !== undefined && more.length === 0);
  return {
    client,
    leases,
    election,
    checks,
    logger,
    component,
    reasons: () => [...checks.values()].flatMap((check) => check() ?? []),
  };
}
function holderOf(core: Core): string | undefined {
  const lease = core.engine.find(builtInResources.leases, "default", "podseidon-generator");
  return (lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity;
}

test("the role is ready once both caches are filled, takes the Lease and works", async () => {
  const core = await createCore();
  await core.createDeployment("web");
  const { client, leases, election, component, checks, reasons } = await createProcess(core, 1);
  assert.deepEqual(
    [...checks.keys()],
    [
      "generator-worker/ppr-informer-synced",
      "generator-worker/deployment/informer-sync",
      "generator-worker/namespaces-listed",
      "generator-leader-elector/elector",
    ],
  );
  assert.deepEqual(reasons(), [
    "PodProtectors have not been listed yet",
    "Deployments have not been listed yet",
    "Namespaces have not been listed yet",
  ]);
  await component.start();
  await core.clock.advance(5_000);
  assert.deepEqual(reasons(), []);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.notEqual(holderOf(core) ?? "", "");
  const ofLeases = /\/leases/;
  assert.equal(client.count(ofLeases), 0, "no Lease waits behind the writes of PodProtectors");
  assert.ok(leases.count(ofLeases) > 0 && election.count(/\/leases\/podseidon-generator$/) > 0);
  const stopped = component.stop();
  await core.clock.advance(1_000);
  await stopped;
  assert.equal(holderOf(core) ?? "", "", "the Lease is released for the next one");
  assert.ok(isInForce(core.protector("deployment-web")), "protection outlives the generator");
});

test("of two processes one works, and the other takes over when it has died", async () => {
  const core = await createCore();
  const first = await createProcess(core, 1);
  const second = await createProcess(core, 2);
  await first.component.start();
  await core.clock.advance(5_000);
  await second.component.start();
  await core.createDeployment("web");
  await core.clock.advance(10_000);
  assert.equal(first.client.writes.length, 2);
  assert.deepEqual(second.client.writes, []);
  for (const client of [first.client, first.leases, first.election]) client.isDead = true;
  await core.deleteDeployment("web");
  await core.clock.advance(60_000);
  assert.equal(core.deployment("web"), undefined);
  assert.equal(core.protector("deployment-web"), undefined);
  const stopped = Promise.all([first.component.stop(), second.component.stop()]);
  await core.clock.advance(60_000);
  await stopped;
});

test("the flags of the Deployment plug-in and the target namespace arrive", async () => {
  const core = await createCore();
  const flags = ["--deployment-plugin-protection-selector=protect=yes", "--deployment-plugin-protect-non-zero=true"];
  const elsewhere = await createProcess(core, 1, "--core-kube-target-namespace=kube-system", ...flags);
  await elsewhere.component.start();
  await core.createDeployment("web", { metadata: { labels: { protect: "yes" } } });
  await core.createDeployment("other");
  await core.clock.advance(5_000);
  assert.equal(core.protector("deployment-web"), undefined);
  const stopping = elsewhere.component.stop();
  await core.clock.advance(1_000);
  await stopping;

  const { component } = await createProcess(core, 2, ...flags);
  await component.start();
  await core.clock.advance(5_000);
  assert.ok(isInForce(core.protector("deployment-web")));
  assert.equal(core.protector("deployment-other"), undefined);
  await core.deleteDeployment("web");
  await core.clock.advance(5_000);
  assert.ok(isInForce(core.protector("deployment-web")));
  const stopped = component.stop();
  await core.clock.advance(1_000);
  await stopped;
});

test("without the PodProtector CRD the role stays unready with a reason, and works once it is installed", async () => {
  const core = await createCore();
  await core.createDeployment("web");
  const crd = core.engine.get(
    builtInResources.customResourceDefinitions,
    undefined,
    "podprotectors.podseidon.kubewharf.io",
  );
  await core.engine.delete(builtInResources.customResourceDefinitions, undefined, crd.metadata.name);
  const { component, reasons } = await createProcess(core, 1);
  await component.start();
  await core.clock.advance(5_000);
  assert.match(reasons().join("\n"), /PodProtectors have not been listed yet: .*404/);
  const { apiVersion, kind, spec } = crd;
  await core.engine.installCrd({ apiVersion, kind, spec, metadata: { name: crd.metadata.name } });
  await core.clock.advance(60_000);
  assert.deepEqual(reasons(), []);
  assert.equal(core.engine.list(core.protectorType, "default").items.length, 1);
  const stopped = component.stop();
  await core.clock.advance(1_000);
  await stopped;
});

test("a process that stops before its caches are filled stops cleanly and never touches the Lease", async () => {
  const core = await createCore();
  const { component, client } = await createProcess(core, 1);
  client.isDead = true;
  await component.start();
  await core.clock.advance(5_000);
  client.isDead = false;
  const stopped = component.stop();
  await core.clock.advance(0);
  await stopped;
  assert.equal(holderOf(core), undefined);
});

test("with several kinds the role works for each, and one that is not allowed keeps nobody waiting", async () => {
  const core = await createCore();
  const sources = "--generator-sources=deployments.apps,statefulsets.apps,replicationcontrollers";
  const { component, client, checks, reasons } = await createProcess(core, 1, sources);
  client.onRequest = (_, what) =>
    what.includes("/replicationcontrollers") ? new KubeError("forbidden", "403 Forbidden") : undefined;
  await core.createDeployment("web");
  const labels = { app: "db" };
  await core.engine.create(builtInResources.statefulSets, "default", {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels } } },
  });
  assert.deepEqual([...checks.keys()].slice(1, 4), [
    "generator-worker/deployment/informer-sync",
    "generator-worker/statefulset/informer-sync",
    "generator-worker/replicationcontroller/informer-sync",
  ]);
  await component.start();
  await core.clock.advance(5_000);
  assert.deepEqual(reasons(), []);
  assert.ok(isInForce(core.protector("deployment-web")) && isInForce(core.protector("statefulset-db")));
  const stopped = component.stop();
  await core.clock.advance(1_000);
  await stopped;
});
