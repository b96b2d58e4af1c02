import assert from "node:assert/strict";
import { test } from "node:test";
import { overrides } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources } from "../../../double/index.ts";
import { namesOf, startHolding, tally } from "./bursts.ts";
import { sampleBody, sampleOf } from "../../../source-contract/samples.ts";
import { isInForce } from "../core-cluster.ts";

const secondMs = 1_000;
const shop = namesOf("shop", 60);

type Bench = Awaited<ReturnType<typeof startHolding>>;

function heldByOps({ generator: { metrics } }: Bench): number {
  metrics.scrape();
  return metrics.value("generator_held_changes", { cause: "manager/ops" });
}

async function annotate(bench: Bench, key: string, value: string | null) {
  const patch = { contentType: "application/merge-patch+json", body: { metadata: { annotations: { [key]: value } } } };
  for (const name of shop)
    await bench.engine.patch(builtInResources.deployments, "default", name, patch, { fieldManager: "ops" });
}

test("60 annotations that ask for a floor of 0 are held by their manager until they are approved", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await annotate(bench, overrides.minAvailable, "0");
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  assert.equal(heldByOps(bench), 60);
  await bench.approve(bench.approval("manager/ops"));
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 60 });
});

test("60 such annotations are held when a new leader finds them, and autoscalers have worked meanwhile", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.generator.stop();
  await annotate(bench, overrides.maxUnavailable, "100%");
  await bench.scale(shop, 9, "hpa");
  await bench.start();
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  await annotate(bench, overrides.maxUnavailable, null);
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 7: 60 });
});

test("60 opt-outs by annotation are held, and undone by taking them back", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await annotate(bench, overrides.protect, "false");
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  assert.equal(heldByOps(bench), 60);
  await annotate(bench, overrides.protect, null);
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  assert.equal(heldByOps(bench), 0);
});

test("an annotation that is there already, and a flag that changes what it comes to, count for nothing", async () => {
  const bench = await startHolding();
  await bench.run(shop, { metadata: { annotations: { [overrides.maxUnavailable]: "34%" } }, replicas: 1 });
  assert.deepEqual(tally(bench.floors(shop)), { 0: 60 });
  await bench.generator.stop();
  const next = await bench.start({ rule: { singleReplica: "protected" } });
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 1: 60 });
  await next.stop();
  const again = await bench.start();
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 60 });
  assert.equal(again.metrics.value("generator_changes_held_total"), 0);
  await again.stop();
});

test("everyday life: 12 of 28 floors are given up, come back and are given up again", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 28);
  const some = names.slice(0, 12);
  await bench.run(names);
  for (const replicas of [0, 8, 0]) {
    await bench.edit(some, { replicas }, "tool");
    await bench.clock.advance(10 * secondMs);
  }
  assert.deepEqual(tally(bench.floors(names)), { 0: 12, 6: 16 });
});

test("in a terminating namespace the lost kind of an owner holds nothing", async () => {
  const bench = await startHolding();
  const names = namesOf("shop", 5);
  const ownerReferences = [{ apiVersion: "gone.example.com/v1", kind: "App", name: "a", uid: "u" }];
  await bench.namespace("team");
  await bench.run(names, { namespace: "team", metadata: { ownerReferences } });
  await bench.terminate("team");
  await bench.delete(names, "team");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(names, "team")), { undefined: 5 });
});

const sample = sampleOf("clonesets.apps.kruise.io");
const names = ["one", "two", "three"];

test("deletions that are seen before their CRD is known to go are held for the lost kind", async () => {
  const bench = await startHolding({ sources: [sample.id] });
  const { engine, clock } = bench;
  const type = await engine.installCrd(sample.crd!);
  await clock.advance(60_000);
  for (const name of names) await engine.create(type, "default", sampleBody(sample, name));
  await clock.advance(60_000);
  // What the core is asked about the first deletion is remembered for those that follow.
  await engine.delete(type, "default", "one");
  await clock.advance(200);
  await engine.delete(builtInResources.customResourceDefinitions, undefined, "clonesets.apps.kruise.io");
  await clock.advance(60_000);
  const state = JSON.stringify(bench.configMap());
  assert.match(state, /kind\/CloneSet\.apps\.kruise\.io/);
  assert.doesNotMatch(state, /namespace\/default/);
  for (const name of names) assert.ok(isInForce(bench.protector(`cloneset-${name}`)), name);
  await bench.approve(bench.approval("kind/CloneSet.apps.kruise.io"));
  await clock.advance(60_000);
  for (const name of names) assert.ok(!isInForce(bench.protector(`cloneset-${name}`)), name);
});

test("put together, changes are held, shown in the gauge by cause, and gone from it when they are undone", async () => {
  const bench = await startHolding();
  const names = namesOf("web", 8);
  await bench.run(names);
  await bench.scale(names, 0);
  await bench.clock.advance(5_000);
  const { metrics } = bench.generator;
  const shown = () => {
    metrics.scrape();
    return metrics.value("generator_held_changes", { cause: "manager/unknown" });
  };
  assert.equal(shown(), 8);
  await bench.scale(names, 8);
  await bench.clock.advance(5_000);
  assert.equal(shown(), 0);
  assert.deepEqual(tally(bench.floors(names)), { 6: 8 });
});
