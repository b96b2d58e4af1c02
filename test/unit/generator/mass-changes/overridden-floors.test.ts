/** Overrides that lower floors are changes of the sources, as scaling is (docs/mass-changes.md#what-counts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { overrides } from "../../../../src/api/v1alpha1/names.ts";
import { builtInResources } from "../../../double/index.ts";
import { namesOf, startHolding, tally } from "./bursts.ts";

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
  await bench.generator.stop();
});

test("60 such annotations are held when a new leader finds them, and autoscalers have worked meanwhile", async () => {
  const bench = await startHolding();
  await bench.run(shop);
  await bench.generator.stop();
  await annotate(bench, overrides.maxUnavailable, "100%");
  await bench.scale(shop, 9, "hpa");
  const next = await bench.start();
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 6: 60 });
  await annotate(bench, overrides.maxUnavailable, null);
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 7: 60 });
  await next.stop();
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
  await bench.generator.stop();
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
