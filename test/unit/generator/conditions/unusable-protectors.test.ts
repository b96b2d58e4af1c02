import assert from "node:assert/strict";
import { test } from "node:test";
import { type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { type Core, startWithConditions } from "../core-cluster.ts";

const secondMs = 1_000;
/** Several looks. */
const whileMs = 60 * secondMs;
const statusWrites = (writes: readonly string[]): number => writes.filter((what) => what.endsWith("/status")).length;

function conditionsOf(core: Core, name = "mine"): readonly Condition[] {
  return (core.protector(name)?.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
}
const shown = (core: Core): readonly string[] =>
  conditionsOf(core).map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test("a PodProtector whose selector means nothing is unusable, and not when it is mended", async () => {
  const { core, generator } = await startWithConditions();
  const wrong = { matchExpressions: [{ key: "app", operator: "In", values: [] }] };
  await core.createProtector("mine", { spec: { selector: wrong } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=True InvalidObject", "Ready=False Unusable"]);
  assert.match(conditionsOf(core)[0]?.message ?? "", /^It is invalid, so pod deletions are denied: spec\.selector: /);
  await core.clock.advance(3_600 * secondMs);
  assert.equal(statusWrites(generator.client.writes), 1, "nothing is written while nothing changes");
  await core.patchProtector("mine", { spec: { selector: { matchExpressions: null, matchLabels: { app: "mine" } } } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=False Usable", "Ready=False CountsPending"]);
});

test("a PodProtector with a cell that would count twice is unusable", async () => {
  const { core } = await startWithConditions();
  await core.createProtector("mine");
  const cells = ["a", "a"].map((cellID) => ({ cellID, aggregation: { totalReplicas: 1, availableReplicas: 1 } }));
  await core.writeCells("mine", cells);
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=True InvalidObject", "Ready=False Unusable"]);
});

test("a PodProtector that cannot be read gets the condition too, and keeps all that it has", async () => {
  const { core, generator } = await startWithConditions();
  await core.createProtector("mine", { spec: { minAvailable: "many", extra: [1] } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=True InvalidObject", "Ready=False Unusable"]);
  assert.match(conditionsOf(core)[0]?.message ?? "", /: spec\.minAvailable: /);
  assert.deepEqual(core.protector("mine")?.spec?.["extra"], [1]);
  await core.clock.advance(3_600 * secondMs);
  assert.equal(statusWrites(generator.client.writes), 1, "its own write does not wake it");
  await core.patchProtector("mine", { spec: { minAvailable: 3 } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=False Usable", "Ready=False CountsPending"]);
});

test("an unreadable one that is refused is tried when it changes, and in trouble until it is written", async () => {
  const { core, generator } = await startWithConditions();
  let refusal: "before" | KubeError | undefined = new KubeError("forbidden", "a policy denies it");
  generator.client.onWrite = (_, { path }) => (path.endsWith("/status") ? refusal : undefined);
  await core.createProtector("mine", { spec: { minAvailable: "many" } });
  await core.clock.advance(600 * secondMs);
  assert.deepEqual(shown(core), []);
  assert.equal(generator.metrics.value("generator_source_condition_failures_total", { error: "forbidden" }), 1);
  refusal = "before";
  await core.patchProtector("mine", { metadata: { labels: { a: "b" } } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), []);
  refusal = undefined;
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), ["Unusable=True InvalidObject", "Ready=False Unusable"]);
  await core.deleteProtector("mine");
});

test("a valid PodProtector is never said to be unusable", async () => {
  const { core, generator } = await startWithConditions();
  await core.createProtector("mine");
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core), []);
  assert.equal(statusWrites(generator.client.writes), 0);
});
