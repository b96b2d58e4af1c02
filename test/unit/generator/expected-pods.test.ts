import assert from "node:assert/strict";
import { test } from "node:test";
import { type FloorTarget } from "../../../src/api/v1alpha1/pod-protector.ts";
import {
  type ExpectedAnswer,
  ExpectedPods,
  type ExpectedPodsOptions,
  podOwnersOf,
} from "../../../src/generator/expected-pods.ts";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { type InformerEvent } from "../../../src/kube/informer.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { Discovery } from "../../../src/scale/discovery.ts";
import { ScaleMemory } from "../../../src/scale/scale-memory.ts";
import { ScaledKind } from "../../../src/sources/scaled-kind.ts";
import { type SourceRecord } from "../../../src/sources/source.ts";
import { builtInResources } from "../../double/index.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createCore } from "./core-cluster.ts";

const selector = { matchLabels: { app: "web" } };

async function start(refused?: RegExp) {
  const core = await createCore();
  const client = new EngineClient("core", core.engine);
  const error = new KubeError("forbidden", "403");
  client.onRequest = (_, what) => (refused?.test(what) === true ? error : undefined);
  const { clock } = core;
  const common = { client, clock, rng: createSeededRng(1), logger: createRecordingLogger() };
  const metrics = createCountingMetrics();
  const create: ExpectedPodsOptions["create"] = (resource, decode) =>
    createInformer({ ...common, metrics, resource, decode, name: resource.resource });
  const discovery = new Discovery({ client, clock });
  const kinds = podOwnersOf(["poddisruptionbudgets.policy"]);
  const memory = new ScaleMemory(client);
  const expected = new ExpectedPods({ kinds, create, discovery, memory, clock });
  const databases = new ScaledKind("databases.example.com", { memory, heldFloorOf: () => undefined });
  const ofDatabases = expected.customHandler(databases);
  const changes: string[] = [];
  const life = new AbortController();
  const onChange = (namespace: string, labels: readonly object[] | undefined): void =>
    void changes.push(`${namespace} ${JSON.stringify(labels)}`);
  expected.subscribe({ onChange, onListed: () => changes.push("listed") });
  const running = expected.run(life.signal);
  await clock.advance(1_000);
  return {
    ...core,
    changes,
    ask: async () => {
      const asked = expected.of("default", selector, life.signal);
      await clock.advance(15_000);
      return await asked;
    },
    askTargets: async (...targets: FloorTarget[]) => {
      const asked = expected.ofTargets("default", targets, life.signal);
      await clock.advance(15_000);
      return await asked;
    },
    database: (event: unknown) => ofDatabases.onEvent(event as InformerEvent<SourceRecord>),
    vanished: (answer: ExpectedAnswer) => expected.vanished(answer.kind === "known" ? answer.members : []),
    client,
    stop: async () => {
      life.abort();
      await clock.advance(0);
      await running;
    },
  };
}

test("kinds with a pod template are those of Kubernetes, and those that are named", () => {
  const names = podOwnersOf(["databases.example.com", "clonesets.apps.kruise.io", "poddisruptionbudgets.policy"]);
  assert.deepEqual(
    names.map(({ resource }) => resource.resource),
    ["deployments", "statefulsets", "replicasets", "replicationcontrollers", "clonesets"],
  );
});

test("the replicas of workloads are known without pods, and who asks learns what may have changed", async () => {
  const { changes, ask, createDeployment, patchDeployment, clock, stop } = await start();
  assert.deepEqual(changes, [], "nothing is watched before somebody asks");
  assert.deepEqual(await ask(), { kind: "unmanaged" });
  assert.deepEqual(
    changes,
    Array.from({ length: 5 }, () => "listed"),
    "pods and four kinds of workloads",
  );
  await createDeployment("web");
  await clock.advance(1_000);
  assert.equal(changes.at(-1), 'default [{"app":"web"}]');
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10, hasBarePods: false, lacking: undefined });
  const before = changes.length;
  await patchDeployment("web", { metadata: { labels: { a: "b" } } });
  await clock.advance(1_000);
  assert.equal(changes.length, before, "nothing that matters");
  await stop();
});

test("what may not be listed is said, with what is known, and without anything else there is no answer", async () => {
  const { ask, createDeployment, clock, stop } = await start(/statefulsets/);
  const lacking = { kind: "lasting", problem: "forbidden" };
  assert.partialDeepStrictEqual(await ask(), { kind: "unknown", trouble: lacking });
  await createDeployment("web");
  await clock.advance(1_000);
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10, lacking });
  await stop();
});

test("workloads that are named need no list of pods, and one that is gone undeleted has vanished", async () => {
  const { askTargets, vanished, client, createDeployment, deleteDeployment, patchDeployment, clock, engine, stop } =
    await start();
  const web: FloorTarget = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
  const missing = { kind: "lasting", text: "targets[0]: Deployment web is not there" };
  assert.partialDeepStrictEqual(await askTargets(web), { kind: "unknown", trouble: missing });
  await createDeployment("web");
  await clock.advance(1_000);
  const answer = await askTargets(web);
  assert.partialDeepStrictEqual(answer, { kind: "known", replicas: 10, hasBarePods: false });
  assert.equal(client.count(/\/pods\b/), 0);
  assert.equal(await vanished(answer), undefined);
  engine.wipe(builtInResources.deployments);
  await clock.advance(30_000);
  assert.equal((await vanished(answer))?.owner.object.name, "web");
  await createDeployment("web");
  await patchDeployment("web", { metadata: { finalizers: ["example.com/wait"] } });
  await clock.advance(1_000);
  const again = await askTargets(web);
  await deleteDeployment("web");
  await clock.advance(1_000);
  await patchDeployment("web", { metadata: { finalizers: null } });
  await clock.advance(1_000);
  assert.equal(await vanished(again), undefined, "it was deleted");
  await stop();
});

test("a heartbeat of a custom resource changes no answer, other than a new scale or its end", async () => {
  const { changes, database, stop } = await start();
  const spec = { replicas: 3, selector: { matchLabels: { app: "db" } } };
  const first = { namespace: "default", name: "db", uid: "1", resourceVersion: "1", isTerminating: false, spec };
  database({ type: "added", object: first });
  assert.equal(changes.length, 1);
  const beaten = { ...first, resourceVersion: "2" };
  database({ type: "modified", object: beaten, previous: first });
  // An override of the floor makes a new spec of the same scale.
  const overridden = { ...beaten, resourceVersion: "3", spec: { ...spec } };
  database({ type: "modified", object: overridden, previous: beaten });
  assert.equal(changes.length, 1);
  const scaled = { ...overridden, spec: { ...spec, replicas: 4 } };
  database({ type: "modified", object: scaled, previous: overridden });
  const relabelled = { ...scaled, spec: { ...scaled.spec, selector: { matchLabels: { app: "other" } } } };
  database({ type: "modified", object: relabelled, previous: scaled });
  const ending = { ...relabelled, isTerminating: true };
  database({ type: "modified", object: ending, previous: relabelled });
  database({ type: "deleted", object: ending });
  assert.equal(changes.length, 5);
  await stop();
});
