/** PodUnavailableBudgets as sources: those that name a workload, or say themselves how many pods there are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { sourceCrd } from "../../../support/source-crds.ts";
import { createCore, isInForce } from "../core-cluster.ts";

const secondMs = 1_000;
const id = "podunavailablebudgets.policy.kruise.io";
const { deployments } = builtInResources;
const web = { matchLabels: { app: "web" } };
const named = (kind: string, apiVersion: string): JsonObject => ({ targetRef: { apiVersion, kind, name: "web" } });
const deployment = named("Deployment", "apps/v1");
const failed = "CalculateExpectedPodCountFailed";

async function start() {
  const core = await createCore();
  const { engine, clock } = core;
  const type = await engine.installCrd(sourceCrd("podunavailablebudgets.yaml"));
  const cloneSets = await engine.installCrd(sourceCrd("clonesets.yaml"));
  const startGenerator = () => core.startGenerator({}, { sources: [id] });
  const generator = startGenerator();
  await generator.ready();
  const act = async (action: Promise<unknown>): Promise<void> => {
    await action;
    await clock.advance(3 * secondMs);
  };
  const merge = (body: JsonObject) => ({ contentType: "application/merge-patch+json", body });
  const workload = (kind: string, apiVersion: string, replicas: number, finalizers: string[] = []): JsonObject => ({
    apiVersion,
    kind,
    metadata: { name: "web", namespace: "default", finalizers },
    spec: { replicas, selector: web, template: { metadata: { labels: { app: "web", v: "1" } }, spec: {} } },
  });
  return {
    core,
    generator,
    startGenerator,
    deploy: (replicas: number) =>
      act(engine.create(deployments, "default", workload("Deployment", "apps/v1", replicas))),
    scale: (replicas: number) => act(engine.patch(deployments, "default", "web", merge({ spec: { replicas } }))),
    cloneSet: async (replicas: number, finalizers?: string[]) => {
      const body = workload("CloneSet", "apps.kruise.io/v1alpha1", replicas, finalizers);
      await engine.create(cloneSets, "default", body);
      const status = merge({ status: { labelSelector: "app=web" } });
      await act(engine.patch(cloneSets, "default", "web", status, { subresource: "status" }));
    },
    budget: (spec: JsonObject, annotations: JsonObject = {}) =>
      act(
        engine.create(type, "default", {
          apiVersion: "policy.kruise.io/v1alpha1",
          kind: "PodUnavailableBudget",
          metadata: { name: "web", namespace: "default", annotations },
          spec,
        }),
      ),
    edit: (body: JsonObject) => act(engine.patch(type, "default", "web", merge(body))),
    remove: () => act(engine.delete(type, "default", "web")),
    protector: () => core.protector("podunavailablebudget-web"),
    floor: () => {
      const protector = core.protector("podunavailablebudget-web");
      return isInForce(protector) ? protector?.spec?.["minAvailable"] : undefined;
    },
    reasons: () => core.events().map((event) => String(event["reason"])),
  };
}

test("a budget that names a Deployment follows its replicas, and is about the pods that it selects", async () => {
  const { generator, deploy, scale, budget, edit, remove, floor, protector } = await start();
  await deploy(10);
  await budget({ ...deployment, maxUnavailable: "30%" });
  assert.equal(floor(), 7);
  assert.deepEqual(protector()?.spec?.["selector"], web);
  const floors: unknown[] = [];
  for (const replicas of [20, 0, 5]) {
    await scale(replicas);
    floors.push(floor());
  }
  assert.deepEqual(floors, [14, 0, 3]);
  await edit({ spec: { maxUnavailable: null, minAvailable: 4 } });
  assert.equal(floor(), 4);
  await remove();
  assert.equal(protector(), undefined);
  const writes = generator.client.writes.filter((write) => /podunavailablebudgets/.test(write));
  assert.deepEqual([writes, generator.errors()], [[], []], "the budget itself is never written");
});

test("of a CloneSet the scale says both", async () => {
  const { cloneSet, budget, floor, protector } = await start();
  await cloneSet(10);
  await budget({ ...named("CloneSet", "apps.kruise.io/v1alpha1"), minAvailable: "75%" });
  assert.equal(floor(), 8);
  assert.deepEqual(protector()?.spec?.["selector"], web);
});

test("a workload that vanishes leaves the last floor, also after a restart, and people are told", async () => {
  const { core, generator, startGenerator, deploy, budget, edit, floor, protector, reasons } = await start();
  await deploy(10);
  await budget({ ...deployment, maxUnavailable: 2 });
  core.eraseDeployments();
  core.engine.forgetHistory();
  generator.client.dropWatches();
  await core.clock.advance(90 * secondMs);
  assert.equal(floor(), 8);
  assert.ok(reasons().includes(failed));
  await edit({ spec: { maxUnavailable: 3 } });
  assert.equal(floor(), 7, "what the budget says still counts");
  assert.deepEqual(protector()?.spec?.["selector"], web);
  await generator.stop();
  const next = startGenerator();
  await next.ready();
  await edit({ spec: { maxUnavailable: 9 } });
  assert.deepEqual([floor(), protector()?.spec?.["selector"]], [7, web]);
});

test("a workload that is being deleted has no pods that must stay", async () => {
  const { core, deploy, budget, floor } = await start();
  await deploy(10);
  await core.patchDeployment("web", { metadata: { finalizers: ["example.com/slow"] } });
  await budget({ ...deployment, maxUnavailable: 2 });
  await core.deleteDeployment("web");
  await core.clock.advance(3 * secondMs);
  assert.equal(floor(), 0);
  await core.patchDeployment("web", { metadata: { finalizers: null } });
  await core.clock.advance(60 * secondMs);
  assert.equal(floor(), 0, "nor has it when it is gone");
});

test("a workload that goes with its CRD leaves the last floor, and people are told", async () => {
  const { core, cloneSet, budget, floor, reasons } = await start();
  await cloneSet(10, ["example.com/wait"]);
  await budget({ ...named("CloneSet", "apps.kruise.io/v1alpha1"), maxUnavailable: 2 });
  assert.equal(floor(), 8);
  await core.engine.delete(builtInResources.customResourceDefinitions, undefined, "clonesets.apps.kruise.io");
  await core.clock.advance(60 * secondMs);
  assert.deepEqual([floor(), reasons()], [8, [failed]]);
});

test("without the workload that it names nothing is protected until it is there", async () => {
  const { core, deploy, budget, floor, protector } = await start();
  await budget({ ...deployment, minAvailable: 3 });
  assert.equal(protector(), undefined);
  await core.clock.advance(60 * secondMs);
  assert.match(JSON.stringify(core.events()), /spec\.targetRef: Deployment web is not there/);
  await deploy(5);
  assert.equal(floor(), 3);
});

test("total replicas by annotation need no workload, and count in place of one that is named", async () => {
  const { deploy, budget, edit, floor, protector, remove } = await start();
  const total = { "pub.kruise.io/protect-total-replicas": "20" };
  await budget({ selector: web, maxUnavailable: "25%" }, total);
  assert.equal(floor(), 15);
  assert.deepEqual(protector()?.spec?.["selector"], web);
  await remove();
  await deploy(10);
  await budget({ ...deployment, maxUnavailable: "25%" }, total);
  assert.equal(floor(), 15);
  await edit({ metadata: { annotations: { "pub.kruise.io/protect-total-replicas": null } } });
  assert.equal(floor(), 7);
});

test("a budget that guards updates alone has no floor, and counts as unprotected", async () => {
  const { generator, deploy, budget, edit, floor } = await start();
  const operations = "kruise.io/pub-protect-operations";
  await deploy(10);
  await budget({ ...deployment, maxUnavailable: 2 }, { [operations]: "UPDATE" });
  assert.equal(floor(), 0);
  assert.equal(generator.sources().unprotected, 1);
  await edit({ metadata: { annotations: { [operations]: "UPDATE,DELETE" } } });
  assert.equal(floor(), 8);
});

test("a budget that OpenKruise would refuse is not protected, and one that becomes such keeps its floor", async () => {
  const { core, deploy, budget, edit, floor, reasons } = await start();
  await deploy(10);
  await budget({ ...deployment, maxUnavailable: 2 });
  await edit({ spec: { podGroupPolicy: { groupLabelKey: "group" } } });
  await core.clock.advance(60 * secondMs);
  assert.equal(floor(), 8);
  assert.ok(reasons().includes(failed));
  await edit({ spec: { podGroupPolicy: null, maxUnavailable: 4 } });
  assert.equal(floor(), 6);
});
