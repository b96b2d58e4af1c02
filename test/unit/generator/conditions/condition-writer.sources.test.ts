import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type KubeObject } from "../../../double/index.ts";
import { type Core, startWithConditions, undrainable } from "../core-cluster.ts";

const secondMs = 1_000;
/** Several looks. */
const whileMs = 60 * secondMs;
const statusWrites = (writes: readonly string[]): number => writes.filter((what) => what.endsWith("/status")).length;

function conditionsOf(object: KubeObject | undefined): readonly Condition[] {
  return (object?.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [];
}

/** "Undrainable=True" and so on. */
function shown(core: Core, name: string): readonly string[] {
  const conditions = conditionsOf(core.protector(`deployment-${name}`)).filter(({ type }) => type !== "Ready");
  return conditions.map(({ type, status }) => `${type}=${status}`);
}

test("an undrainable and an unprotected Deployment get their condition, and one in good order no write", async () => {
  const { core, generator } = await startWithConditions();
  await core.createDeployment("stuck", { spec: undrainable });
  await core.createDeployment("single", { replicas: 1 });
  await core.createDeployment("web");
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core, "stuck"), ["Undrainable=True"]);
  assert.equal(conditionsOf(core.protector("deployment-stuck"))[0]?.reason, "MaxUnavailableZero");
  assert.deepEqual(shown(core, "single"), ["Unprotected=True"]);
  assert.deepEqual(shown(core, "web"), []);
  assert.equal(statusWrites(generator.client.writes), 2);
  await core.clock.advance(3_600 * secondMs);
  assert.equal(statusWrites(generator.client.writes), 2, "nothing is written while nothing changes");
});

test("a condition ends when its cause does", async () => {
  const { core } = await startWithConditions();
  await core.createDeployment("stuck", { spec: undrainable });
  await core.clock.advance(whileMs);
  await core.patchDeployment("stuck", { spec: { strategy: { rollingUpdate: { maxUnavailable: 1 } } } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core, "stuck"), ["Undrainable=False"]);
});

test("a dangling PodProtector says so, until its source is back; a released one says nothing new", async () => {
  const { core } = await startWithConditions();
  await core.createDeployment("web");
  await core.clock.advance(secondMs);
  core.eraseDeployments();
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core, "web"), ["Dangling=True"]);
  await core.createDeployment("web");
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core, "web"), ["Dangling=False"]);
  await core.patchProtector("deployment-web", { metadata: { finalizers: ["other.example/x"] } });
  core.eraseDeployments();
  await core.patchProtector("deployment-web", { metadata: { annotations: { [annotations.released]: "true" } } });
  await core.clock.advance(whileMs);
  assert.deepEqual(shown(core, "web"), ["Dangling=False"]);
});

test("cells, and the conditions of others, are kept, and a write that meets another one is made again", async () => {
  const { core, generator } = await startWithConditions();
  await core.createDeployment("stuck", { spec: undrainable });
  await core.clock.advance(secondMs);
  const cells = [{ cellID: "a", aggregation: { totalReplicas: 10, availableReplicas: 9 } }];
  let conflicts = 0;
  generator.client.onWrite = async (_, { method }) => {
    if (method === "PUT" && conflicts++ === 0) await core.writeCells("deployment-stuck", cells);
    return undefined;
  };
  await core.clock.advance(whileMs);
  assert.ok(conflicts > 1);
  assert.deepEqual(core.protector("deployment-stuck")?.status?.["cells"], cells);
  assert.deepEqual(shown(core, "stuck"), ["Undrainable=True"]);
  assert.deepEqual(generator.errors(), []);
});

test("a Deployment that changes while its condition is written is not taken for a CRD that drops it", async () => {
  const { core, generator } = await startWithConditions();
  await core.createDeployment("single", { replicas: 1 });
  let isChanged = false;
  generator.client.onWrite = async (_, { method }) => {
    if (method !== "PUT" || isChanged) return undefined;
    isChanged = true;
    // The same floor for another reason, so that the PodProtector itself stays as it is.
    await core.patchDeployment("single", { spec: { strategy: { type: "Recreate", rollingUpdate: null } } });
    return new Promise((resolve) => core.clock.setTimer(5 * secondMs, () => resolve(undefined)));
  };
  await core.clock.advance(whileMs);
  assert.ok(isChanged);
  assert.equal(conditionsOf(core.protector("deployment-single"))[0]?.reason, "Recreate");
  const dropped = generator.metrics.value("generator_source_condition_failures_total", { error: "dropped" });
  assert.equal(dropped ?? 0, 0);
});
