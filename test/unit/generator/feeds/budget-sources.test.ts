/** PodDisruptionBudgets as sources: how many pods they are about, what keeps a floor, and what ends one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, overrides } from "../../../../src/api/v1alpha1/names.ts";
import { type CustomSourceID, type SourceID } from "../../../../src/config/generator-rules.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject, type KubeObject, type ResourceType } from "../../../double/index.ts";
import { databaseBody, scaledCrd } from "../../../double/scaled-crd.ts";
import { controlledBy } from "../../scale/owners.ts";
import { createCore, isInForce } from "../core-cluster.ts";

const secondMs = 1_000;
const { podDisruptionBudgets, deployments, statefulSets, replicaSets, pods, customResourceDefinitions } =
  builtInResources;
const web = { matchLabels: { app: "web" } };
const failed = "CalculateExpectedPodCountFailed";

type Options = NonNullable<Parameters<Awaited<ReturnType<typeof createCore>>["startGenerator"]>[1]>;
const holding: Options = { massChanges: { policy: "hold", allow: [] } };

async function start(sources: readonly (SourceID | CustomSourceID)[] = ["poddisruptionbudgets.policy"]) {
  const core = await createCore();
  const { engine, clock } = core;
  const startGenerator = (options: Options = {}) => core.startGenerator({}, { sources, ...options });
  const settle = (ms = 3 * secondMs) => clock.advance(ms);
  const template = (app: string): JsonObject => ({ metadata: { labels: { app } }, spec: { containers: [] } });
  const patch = async (type: ResourceType, name: string, body: JsonObject): Promise<void> => {
    await engine.patch(type, "default", name, { contentType: "application/merge-patch+json", body });
    await settle();
  };
  return {
    core,
    startGenerator,
    settle,
    patch,
    budget: async (spec: JsonObject, name = "web", metadata: JsonObject = {}) => {
      await engine.create(podDisruptionBudgets, "default", {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name, namespace: "default", ...metadata },
        spec,
      });
      await settle();
    },
    workload: (type: ResourceType, name: string, replicas: number, app = "web", owner?: KubeObject) =>
      engine.create(type, "default", {
        apiVersion: "apps/v1",
        kind: type.kind,
        metadata: { name, namespace: "default", ...(owner && { ownerReferences: [...controlledBy(owner)] }) },
        spec: { replicas, selector: { matchLabels: { app } }, template: template(app) },
      }),
    pod: async (name: string, owner?: KubeObject, app = "web") => {
      await engine.create(pods, "default", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          namespace: "default",
          labels: { app },
          ...(owner && { ownerReferences: controlledBy(owner) }),
        },
        spec: { containers: [{ name: "a", image: "a" }] },
      });
    },
    floor: (name = "web") => {
      const protector = core.protector(`poddisruptionbudget-${name}`);
      return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
    },
    protector: (name = "web") => core.protector(`poddisruptionbudget-${name}`),
    deleteBudget: async (name = "web") => {
      await engine.delete(podDisruptionBudgets, "default", name);
      await settle(5 * secondMs);
    },
    reasons: () => core.events().map((event) => String(event["reason"])),
  };
}

async function startLeading(sources?: readonly (SourceID | CustomSourceID)[]) {
  const world = await start(sources);
  const generator = world.startGenerator();
  await generator.ready();
  return { ...world, generator };
}

test("the budget itself is never written", async () => {
  const { core, generator, workload, budget, patch, deleteBudget, protector } = await startLeading();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  await patch(podDisruptionBudgets, "web", { spec: { maxUnavailable: 3 } });
  await patch(podDisruptionBudgets, "web", { metadata: { finalizers: [finalizer] } });
  await patch(podDisruptionBudgets, "web", { metadata: { finalizers: null } });
  await deleteBudget();
  assert.equal(protector(), undefined);
  assert.deepEqual(
    generator.client.writes.filter((write) => /poddisruptionbudgets/.test(write)),
    [],
  );
  assert.deepEqual([generator.errors(), core.protector("poddisruptionbudget-web")], [[], undefined]);
});

test("without pods in the core the workloads are found by their pod templates, several as one sum", async () => {
  const { workload, budget, patch, floor, protector } = await startLeading();
  await workload(deployments, "one", 10);
  const other = await workload(statefulSets, "two", 5);
  await workload(deployments, "db", 50, "db");
  await workload(replicaSets, "below", 99, "web", other);
  await budget({ minAvailable: "50%", selector: web });
  assert.equal(floor(), 8, "half of 15, rounded up; what another one controls counts with that");
  assert.deepEqual(protector()?.spec?.["selector"], web);
  await patch(deployments, "one", { spec: { replicas: 20 } });
  assert.equal(floor(), 13);
  await patch(podDisruptionBudgets, "web", { spec: { selector: { matchLabels: { app: "db" } } } });
  assert.equal(floor(), 25);
  await patch(podDisruptionBudgets, "web", { spec: { selector: { matchLabels: null } } });
  assert.equal(floor(), 38, "an empty selector selects all");
  await patch(podDisruptionBudgets, "web", { spec: { selector: null } });
  assert.equal(floor(), 0, "and none selects nothing");
});

test("pods lead to owners that have no pod template, and the pods are not what is counted", async () => {
  const { core, generator, budget, pod, patch, settle, floor } = await startLeading();
  const type = await core.engine.installCrd(scaledCrd());
  const owner = await core.engine.create(type, "default", databaseBody("orders", { members: 40 }));
  for (let index = 0; index < 30; index++) await pod(`orders-${index}`, owner);
  await budget({ maxUnavailable: "10%", selector: web });
  assert.equal(floor(), 36);
  const reads = () => generator.client.count(/databases\/[^/]+\/scale$/);
  assert.equal(reads(), 1, "30 pods of one owner cost one request");
  for (let index = 1; index < 30; index++) await core.engine.delete(pods, "default", `orders-${index}`);
  await settle();
  assert.deepEqual([floor(), reads()], [36, 1]);
  await patch(type, "orders", { spec: { members: 20 } });
  assert.deepEqual([floor(), reads()], [18, 2]);
  const before = generator.client.log.length;
  await patch(podDisruptionBudgets, "web", { metadata: { labels: { a: "b" } } });
  const asked = generator.client.log.slice(before).filter((line) => !/^(WATCH|GET .*(protector|budget))/.test(line));
  assert.deepEqual(asked, [], "what has not changed is not asked for");
});

test("a custom kind that is named is found by what its scale selects", async () => {
  const { core, budget, patch, floor } = await startLeading(["poddisruptionbudgets.policy", "databases.example.com"]);
  const type = await core.engine.installCrd(scaledCrd());
  await core.engine.create(type, "default", databaseBody("orders", { members: 10 }));
  const selector = { contentType: "application/merge-patch+json", body: { status: { selector: "app=web" } } };
  await core.engine.patch(type, "default", "orders", selector, { subresource: "status" });
  await core.clock.advance(30 * secondMs);
  await budget({ maxUnavailable: 1, selector: web });
  assert.equal(floor(), 9);
  await patch(type, "orders", { spec: { members: 5 } });
  assert.equal(floor(), 4);
});

test("a number of minAvailable may cover pods without a controller, and nothing else may", async () => {
  const { core, generator, budget, pod, floor, reasons, settle } = await startLeading();
  await pod("a");
  await pod("b");
  await budget({ minAvailable: 2, selector: web }, "number");
  await budget({ minAvailable: "50%", selector: web }, "percent");
  await budget({ maxUnavailable: 1, selector: web }, "max");
  await settle(60 * secondMs);
  assert.deepEqual([floor("number"), floor("percent"), floor("max")], [2, undefined, undefined]);
  assert.deepEqual(reasons(), [failed, failed]);
  assert.match(JSON.stringify(core.events()), /no pod with a controller/);
  assert.deepEqual(generator.unreadable(), [2]);
});

test("a number of minAvailable needs no scale of what controls the pods", async () => {
  const { core, budget, pod, floor, reasons, settle } = await startLeading();
  const type = await core.engine.installCrd(scaledCrd({ hasScale: false }));
  await pod("a", await core.engine.create(type, "default", databaseBody("agent")));
  await budget({ minAvailable: 1, selector: web }, "number");
  await budget({ maxUnavailable: 1, selector: web }, "max");
  await settle(60 * secondMs);
  assert.deepEqual([floor("number"), floor("max")], [1, undefined]);
  assert.deepEqual(reasons(), [failed]);
});

test("a workload that vanishes keeps the last count, is told, and its pods stay protected", async () => {
  const { core, workload, budget, patch, settle, floor, reasons } = await startLeading();
  await workload(deployments, "one", 10);
  await workload(statefulSets, "two", 10);
  await budget({ maxUnavailable: "20%", selector: web });
  assert.equal(floor(), 16);
  core.eraseDeployments();
  await settle(60 * secondMs);
  assert.equal(floor(), 16);
  assert.deepEqual(reasons(), [failed]);
  await patch(podDisruptionBudgets, "web", { spec: { maxUnavailable: "10%" } });
  assert.equal(floor(), 18, "what people change in the budget holds for the last count");
  await workload(deployments, "one", 5);
  await settle();
  assert.equal(floor(), 13);
});

test("a floor of which nothing is known after a restart stays", async () => {
  const { core, generator, startGenerator, workload, budget, settle, floor } = await startLeading();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  await generator.stop();
  core.eraseDeployments();
  const next = startGenerator();
  await next.ready();
  await settle(60 * secondMs);
  assert.equal(floor(), 8);
});

test("a workload that is deleted with a deletionTimestamp is no longer counted", async () => {
  const { core, workload, budget, pod, settle, floor } = await startLeading([
    "deployments.apps",
    "poddisruptionbudgets.policy",
  ]);
  const deployment = await workload(deployments, "web", 10);
  await pod("web-1-a", await workload(replicaSets, "web-1", 10, "web", deployment));
  await budget({ maxUnavailable: 2, selector: web });
  assert.equal(floor(), 8);
  await core.deleteDeployment("web");
  await settle(5 * secondMs);
  assert.equal(core.deployment("web"), undefined);
  assert.equal(floor(), 0, "though its pods are still there, and their ReplicaSet");
  await core.engine.delete(replicaSets, "default", "web-1");
  await settle(60 * secondMs);
  assert.equal(floor(), 0);
});

for (const what of ["statefulsets", "pods"]) {
  test(`while ${what} may not be listed, no floor falls, and others are made by what is known`, async () => {
    const { core, generator, startGenerator, workload, budget, patch, settle, floor, reasons } = await startLeading();
    await workload(deployments, "web", 10);
    await budget({ maxUnavailable: 2, selector: web });
    await generator.stop();
    const forbidden = new KubeError("forbidden", "403");
    const isMeant = (line: string) => new RegExp(`/${what}$`).test(line);
    const next = startGenerator({ onRequest: (_, line) => (isMeant(line) ? forbidden : undefined) });
    await next.ready();
    await settle(20 * secondMs);
    assert.equal(floor(), 8);
    await patch(deployments, "web", { spec: { replicas: 5 } });
    await settle(60 * secondMs);
    assert.deepEqual([floor(), reasons()], [8, [failed]]);
    await patch(deployments, "web", { spec: { replicas: 20 } });
    assert.equal(floor(), 18);
    next.client.onRequest = () => undefined;
    await patch(deployments, "web", { spec: { replicas: 5 } });
    await settle(360 * secondMs);
    assert.equal(floor(), 3);
    assert.equal(core.protector("poddisruptionbudget-web")?.metadata.deletionTimestamp, undefined);
    await next.stop();
  });
}

test("a budget that was deleted while nobody watched has vanished, until a person acts", async () => {
  const { core, generator, startGenerator, workload, budget, settle, floor, protector, deleteBudget, reasons } =
    await startLeading();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  await generator.stop();
  await deleteBudget();
  const next = startGenerator();
  await next.ready();
  await settle(60 * secondMs);
  assert.equal(floor(), 8);
  assert.ok(reasons().includes("Dangling"));
  await core.patchProtector("poddisruptionbudget-web", {
    metadata: { annotations: { [annotations.released]: "true" } },
  });
  await settle();
  assert.equal(protector(), undefined);
});

test("a standby that has watched the deletion carries the release out", async () => {
  const { generator, core, workload, budget, settle, deleteBudget, protector } = await startLeading();
  const standby = core.startGenerator({}, { sources: ["poddisruptionbudgets.policy"], standby: true });
  await standby.ready();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  generator.kill();
  await deleteBudget();
  assert.ok(protector() !== undefined);
  await standby.lead();
  await settle(5 * secondMs);
  assert.equal(protector(), undefined);
});

test("a budget that is made again has its PodProtector again, which ends with the new one", async () => {
  const { workload, budget, deleteBudget, settle, floor, protector } = await startLeading();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  await deleteBudget();
  await budget({ maxUnavailable: 4, selector: web });
  assert.equal(floor(), 6);
  await settle(120 * secondMs);
  assert.equal(floor(), 6);
  await deleteBudget();
  assert.equal(protector(), undefined);
});

test("too many budgets that are deleted at once are held, and their floors stay", async () => {
  const { core, startGenerator, workload, budget, settle, floor } = await start();
  const generator = startGenerator(holding);
  await generator.ready();
  await workload(deployments, "web", 10);
  const names = Array.from({ length: 30 }, (_, index) => `web-${index}`);
  for (const name of names) await budget({ maxUnavailable: 2, selector: web }, name);
  for (const name of names) await core.engine.delete(podDisruptionBudgets, "default", name);
  await settle(600 * secondMs);
  assert.deepEqual(new Set(names.map((name) => floor(name))), new Set([8]));
  assert.ok(core.events().some((event) => event["reason"] === "ChangeHeld"));
});

test("replicas that an autoscaler lowers lower the floors of many budgets without delay", async () => {
  const { core, startGenerator, workload, budget, settle, floor } = await start();
  const generator = startGenerator(holding);
  await generator.ready();
  const names = Array.from({ length: 8 }, (_, index) => `web-${index}`);
  for (const name of names) {
    await workload(deployments, name, 20, name);
    await budget({ maxUnavailable: 1, selector: { matchLabels: { app: name } } }, name);
  }
  assert.equal(floor("web-0"), 19);
  for (const name of names) {
    const body = { spec: { replicas: 4 } };
    const change = { contentType: "application/merge-patch+json", body } as const;
    await core.engine.patch(deployments, "default", name, change, {
      subresource: "scale",
      fieldManager: "hpa",
    } as never);
  }
  await settle();
  assert.deepEqual(new Set(names.map((name) => floor(name))), new Set([3]));
});

test("a budget that becomes invalid keeps what it was", async () => {
  const { core, workload, budget, settle, floor, reasons } = await startLeading();
  await workload(deployments, "web", 10);
  await budget({ maxUnavailable: 2, selector: web });
  await core.engine.patch(podDisruptionBudgets, "default", "web", {
    contentType: "application/merge-patch+json",
    body: { spec: { maxUnavailable: "many" } },
  });
  await settle(60 * secondMs);
  assert.equal(floor(), 8);
  assert.ok(reasons().includes(failed));
});

for (const [what, isRefused, metadata] of [
  ["may not be listed", /\/databases$/, {}],
  ["may not be listed, with an override", /\/databases$/, { annotations: { [overrides.minAvailable]: "2" } }],
  ["is not served any more", /\/apis\/example\.com/, { annotations: { [overrides.minAvailable]: "2" } }],
] as const)
  test(`a number of minAvailable keeps its floor, and it is told, where a kind of owners ${what}`, async () => {
    const { core, generator, startGenerator, budget, patch, pod, settle, floor, reasons } = await startLeading();
    const type = await core.engine.installCrd(scaledCrd());
    await pod("a", await core.engine.create(type, "default", databaseBody("orders", { members: 3 })));
    const minAvailable = "annotations" in metadata ? 1 : 5;
    await budget({ minAvailable, selector: web }, "web", metadata);
    const before = floor();
    assert.equal(before, "annotations" in metadata ? 2 : 3);
    await generator.stop();
    const error = new KubeError(isRefused.test("/apis/example.com") ? "notFound" : "forbidden", "refused");
    const next = startGenerator({ onRequest: (_, line) => (isRefused.test(line) ? error : undefined) });
    await next.ready();
    await settle(60 * secondMs);
    assert.deepEqual([floor(), reasons()], [before, [failed]]);
    await patch(podDisruptionBudgets, "web", { metadata: { annotations: null }, spec: { minAvailable: 0 } });
    await settle(60 * secondMs);
    assert.equal(floor(), 0, "what a person asks for is never more than that number");
    await next.stop();
  });

test("workloads that go with their CRD keep the last count, and it is told", async () => {
  const { core, budget, pod, settle, floor, reasons } = await startLeading();
  const type = await core.engine.installCrd(scaledCrd());
  const finalizers = ["example.com/wait"];
  await pod("a", await core.engine.create(type, "default", databaseBody("orders", { members: 10 }, { finalizers })));
  await budget({ maxUnavailable: 2, selector: web });
  assert.equal(floor(), 8);
  await core.engine.delete(customResourceDefinitions, undefined, "databases.example.com");
  await settle(60 * secondMs);
  assert.deepEqual([floor(), reasons()], [8, [failed]]);
  assert.match(JSON.stringify(core.events()), /Database/);
});
