/** Hand-made PodProtectors whose floor follows workloads: on an API server, with a generator that leads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject, type ResourceType } from "../../../double/index.ts";
import { databaseBody, scaledCrd } from "../../../double/scaled-crd.ts";
import { createCore } from "../core-cluster.ts";

const secondMs = 1_000;
const { deployments, statefulSets } = builtInResources;
const failed = "CalculateExpectedPodCountFailed";
const target = (name: string, kind = "Deployment"): JsonObject => ({ apiVersion: "apps/v1", kind, name });

type Options = NonNullable<Parameters<Awaited<ReturnType<typeof createCore>>["startGenerator"]>[1]>;

/** The generator works for no workload here, unless a test says so: the hand-made ones stand alone. */
async function start(options: Options = { sources: ["replicationcontrollers"] }) {
  const core = await createCore();
  const { engine, clock } = core;
  const settle = (ms = 3 * secondMs) => clock.advance(ms);
  const generator = core.startGenerator({}, options);
  await generator.ready();
  await settle(60 * secondMs);
  const patch = async (type: ResourceType, name: string, body: JsonObject): Promise<void> => {
    await engine.patch(type, "default", name, { contentType: "application/merge-patch+json", body });
    await settle();
  };
  return {
    core,
    generator,
    settle,
    patch,
    protect: async (spec: JsonObject, name = "shared", metadata: JsonObject = {}) => {
      await core.createProtector(name, { spec: { minAvailable: 3, ...spec }, metadata });
      await settle();
    },
    workload: async (type: ResourceType, name: string, replicas: number, labels: JsonObject = {}) => {
      const template = { metadata: { labels: { app: name } }, spec: { containers: [] } };
      await engine.create(type, "default", {
        apiVersion: "apps/v1",
        kind: type.kind,
        metadata: { name, namespace: "default", labels },
        spec: { replicas, selector: { matchLabels: { app: name } }, template },
      });
      await settle();
    },
    floor: (name = "shared") => core.protector(name)?.spec?.["minAvailable"],
    condition: (type: string, name = "shared") => {
      const status = core.protector(name)?.status as { conditions?: JsonObject[] } | undefined;
      return status?.conditions?.find((one) => one["type"] === type);
    },
    reasons: () => core.events().map((event) => String(event["reason"])),
  };
}

test("the floor follows the replicas of the workloads that are named, as one sum", async () => {
  const { generator, workload, protect, patch, floor } = await start();
  await workload(deployments, "web", 10);
  await workload(statefulSets, "db", 5);
  await protect({ maxUnavailable: "20%", targets: [target("web"), target("db", "StatefulSet")] });
  assert.equal(floor(), 12);
  await patch(deployments, "web", { spec: { replicas: 25 } });
  assert.equal(floor(), 24);
  await patch(statefulSets, "db", { spec: { replicas: 0 } });
  assert.equal(floor(), 20);
  assert.deepEqual(generator.errors(), []);
  assert.equal(generator.client.count(/\/pods\b/), 0, "pods are not looked at");
});

test("a custom resource counts by its scale, and an unchanged one costs no request", async () => {
  const { core, generator, protect, patch, settle, floor } = await start();
  const type = await core.engine.installCrd(scaledCrd());
  await core.engine.create(type, "default", databaseBody("orders", { members: 20 }));
  await protect({
    minAvailablePercent: 90,
    targets: [{ apiVersion: "example.com/v1", kind: "Database", name: "orders" }],
  });
  await settle(15 * secondMs);
  assert.equal(floor(), 18);
  await patch(type, "orders", { spec: { members: 30 } });
  assert.equal(floor(), 27);
  const reads = generator.client.count(/\/scale$/);
  await patch(type, "orders", { metadata: { labels: { a: "b" } } });
  assert.equal(generator.client.count(/\/scale$/), reads);
});

test("without targets the workloads are found by what the selector selects, by their pod templates too", async () => {
  const { core, workload, protect, patch, floor, settle } = await start();
  await workload(deployments, "mine", 10);
  await protect({ maxUnavailable: 1 });
  await settle(15 * secondMs);
  assert.equal(floor(), 9);
  await patch(deployments, "mine", { spec: { replicas: 20 } });
  assert.equal(floor(), 19);
  await patch(core.protectorType, "shared", { spec: { selector: { matchLabels: { app: "nobody" } } } });
  assert.equal(floor(), 19, "where nothing is selected the last floor stays");
});

test("workloads are selected by their own labels, one that is deleted leaves, one that vanished does not", async () => {
  const { core, generator, workload, protect, patch, floor, settle, condition } = await start();
  generator.writeConditions();
  await workload(deployments, "one", 10, { team: "shop" });
  await workload(deployments, "two", 10, { team: "shop" });
  const selector = { matchLabels: { team: "shop" } };
  await protect({ maxUnavailable: "10%", targets: [{ apiVersion: "apps/v1", kind: "Deployment", selector }] });
  assert.equal(floor(), 18);
  await workload(deployments, "three", 10, { team: "shop" });
  assert.equal(floor(), 27);
  await patch(deployments, "three", { metadata: { labels: { team: "other" } } });
  assert.equal(floor(), 18, "not selected any more");
  await patch(deployments, "two", { metadata: { finalizers: ["example.com/wait"] } });
  await core.engine.delete(deployments, "default", "two");
  await settle();
  assert.equal(floor(), 9, "deleted");
  await workload(deployments, "four", 10, { team: "shop" });
  core.engine.wipe(deployments);
  await settle(120 * secondMs);
  assert.equal(floor(), 18, "vanished");
  assert.equal(condition("FloorStale")?.["status"], "True");
});

test("an owner that is not there is told, and the last floor stays until it is", async () => {
  const { generator, workload, protect, patch, floor, reasons, settle, condition, core } = await start();
  generator.writeConditions();
  await protect({ maxUnavailable: 1, targets: [target("web")] });
  await settle(10 * secondMs);
  assert.deepEqual([floor(), reasons()], [3, []], "it may come at any moment");
  await settle(80 * secondMs);
  assert.deepEqual([floor(), reasons()], [3, [failed]]);
  assert.match(JSON.stringify(core.events()), /Its last floor holds: .*targets\[0\]: Deployment web is not there/);
  assert.partialDeepStrictEqual(condition("FloorStale"), { status: "True", reason: failed });
  assert.equal(condition("FloorResolved"), undefined);
  assert.equal(generator.unresolved(), 1);
  await workload(deployments, "web", 8);
  await settle(40 * secondMs);
  assert.equal(floor(), 7);
  assert.equal(condition("FloorStale")?.["status"], "False");
  core.eraseDeployments();
  await settle(120 * secondMs);
  assert.equal(floor(), 7);
  assert.equal(condition("FloorStale")?.["status"], "True");
  await patch(core.protectorType, "shared", { spec: { minAvailable: 0 } });
  assert.equal(floor(), 7, "edits are undone then, too");
  await patch(core.protectorType, "shared", { spec: { minAvailable: 0, maxUnavailable: null, targets: null } });
  assert.equal(floor(), 0, "without the fields the number is a person's");
});

test("a wrong value is told, and the floor that a person has set stays", async () => {
  const { core, workload, protect, patch, floor, reasons, settle } = await start();
  await workload(deployments, "web", 8);
  await protect({ maxUnavailable: "some", targets: [target("web")] });
  await settle(80 * secondMs);
  assert.deepEqual([floor(), reasons()], [3, [failed]]);
  assert.match(JSON.stringify(core.events()), /spec\.maxUnavailable/);
  await patch(core.protectorType, "shared", { spec: { maxUnavailable: "50%" } });
  assert.equal(floor(), 4);
});

test("a right that is missing is told, and what it hides leaves the last floor", async () => {
  const { workload, protect, floor, reasons, settle } = await start({
    sources: ["replicationcontrollers"],
    onRequest: (_, what) => (/statefulsets/.test(what) ? new KubeError("forbidden", "403") : undefined),
  });
  await workload(statefulSets, "db", 8);
  await protect({ maxUnavailable: 1, targets: [target("db", "StatefulSet")] });
  await settle(120 * secondMs);
  assert.deepEqual([floor(), reasons()], [3, [failed]]);
});

test("the condition says what was resolved, of which generation", async () => {
  const { core, generator, workload, protect, patch, settle, condition } = await start();
  generator.writeConditions();
  await workload(deployments, "web", 10);
  await protect({ maxUnavailable: "20%", targets: [target("web")] });
  await settle(20 * secondMs);
  const generation = () => core.protector("shared")?.metadata.generation;
  assert.partialDeepStrictEqual(condition("FloorResolved"), {
    status: "True",
    reason: "ReplicasKnown",
    message: "10 replicas, of which 8 must stay (maxUnavailable 20%): Deployment web 10",
    observedGeneration: generation(),
  });
  await patch(core.protectorType, "shared", { spec: { maxUnavailable: 0 } });
  await settle(20 * secondMs);
  assert.equal(condition("FloorResolved")?.["observedGeneration"], generation());
  assert.partialDeepStrictEqual(condition("Undrainable"), { status: "True", reason: "MaxUnavailableZero" });
  await patch(core.protectorType, "shared", { spec: { maxUnavailable: null, targets: null } });
  await settle(20 * secondMs);
  assert.equal(condition("FloorResolved")?.["status"], "False");
  assert.equal(condition("Undrainable")?.["status"], "False");
});

test("the condition names the same workloads in whatever order they were found", async () => {
  const { generator, workload, protect, settle, condition } = await start();
  generator.writeConditions();
  const names = ["c", "a", "g", "b", "e", "d", "f"];
  for (const name of names) await workload(deployments, name, 1);
  await protect({ maxUnavailable: 0, targets: names.map((name) => target(name)) });
  await settle(20 * secondMs);
  assert.match(
    String(condition("FloorResolved")?.["message"]),
    /: Deployment a 1, .* b 1, .* c 1, .* d 1, .* e 1, 2 more$/,
  );
});

test("minAvailable is repaired while the fields are there, and a person's without them", async () => {
  const { core, workload, protect, patch, floor } = await start();
  await workload(deployments, "web", 10);
  await protect({ maxUnavailable: 2, targets: [target("web")] });
  for (const minAvailable of [0, 100]) {
    await patch(core.protectorType, "shared", { spec: { minAvailable } });
    assert.equal(floor(), 8);
  }
  await patch(core.protectorType, "shared", { spec: { maxUnavailable: null, targets: null, minAvailable: 1 } });
  await patch(deployments, "web", { spec: { replicas: 20 } });
  assert.equal(floor(), 1);
});

test("nothing else is written, and not to what was generated or has none of the fields", async () => {
  const { core, generator, protect, patch, settle, floor } = await start({ sources: ["deployments.apps"] });
  await core.createDeployment("web");
  await settle();
  await patch(core.protectorType, "deployment-web", { spec: { maxUnavailable: 9, targets: [target("web")] } });
  await protect({}, "plain");
  await protect({ maxUnavailable: 1 }, "made", { annotations: { [annotations.generated]: "true" } });
  assert.deepEqual([floor("deployment-web"), floor("plain"), floor("made")], [8, 3, 3]);
  await protect({ maxUnavailable: 1, targets: [target("web")] });
  assert.equal(floor(), 9);
  const { metadata } = core.protector("shared")!;
  assert.deepEqual([metadata.finalizers, metadata.ownerReferences, metadata.labels], [undefined, undefined, undefined]);
  const writes = generator.client.writes.filter((write) => /podprotectors\/(plain|made|shared)/.test(write));
  assert.equal(writes.length, 1, writes.join());
});

test("the status that webhooks write costs no look", async () => {
  const { core, generator, workload, protect, settle } = await start();
  await workload(deployments, "web", 10);
  await protect({ maxUnavailable: 2, targets: [target("web")] });
  const before = generator.client.log.length;
  for (const cellID of ["a", "b", "c"]) await core.writeCells("shared", [{ cellID }]);
  await settle();
  assert.deepEqual(
    generator.client.log.slice(before).filter((line) => /deployments|GET .*podprotectors\/|PATCH/.test(line)),
    [],
  );
});

test("selected workloads that go with their CRD one after the other do not take the floor along", async () => {
  const { core, protect, settle, floor, reasons } = await start();
  const type = await core.engine.installCrd(scaledCrd());
  const labels = { team: "shop" };
  // The second one is not at its end yet.
  for (const [name, keeper] of [
    ["one", "example.com/wait"],
    ["two", "orphan"],
  ] as const)
    await core.engine.create(type, "default", databaseBody(name, { members: 10 }, { labels, finalizers: [keeper] }));
  const selector = { matchLabels: { team: "shop" } };
  await protect({ maxUnavailable: 2, targets: [{ apiVersion: "example.com/v1", kind: "Database", selector }] });
  await settle(15 * secondMs);
  assert.equal(floor(), 18);
  await core.engine.delete(builtInResources.customResourceDefinitions, undefined, "databases.example.com");
  await settle(60 * secondMs);
  assert.deepEqual([floor(), reasons()], [18, [failed]]);
});
