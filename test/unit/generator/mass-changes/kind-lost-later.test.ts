/** A CRD may begin to go a moment after the first of its objects was deleted by somebody. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInResources } from "../../../double/index.ts";
import { sampleBody, sampleOf } from "../../../source-contract/samples.ts";
import { isInForce } from "../core-cluster.ts";
import { startHolding } from "./bursts.ts";

const sample = sampleOf("clonesets.apps.kruise.io");
const names = ["one", "two", "three"];

test("deletions that are seen before their CRD is known to go are held for the lost kind", async () => {
  const bench = await startHolding({ sources: [sample.id] });
  const { engine, clock, generator } = bench;
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
  await generator.stop();
});
