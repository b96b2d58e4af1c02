/** By conditions about sources, which are written through it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { readyOf } from "../../../../src/api/v1alpha1/conditions.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { upstreamPodProtectorCrd } from "../../../double/index.ts";
import { type Core, startWithConditions, undrainable } from "../core-cluster.ts";

const secondMs = 1_000;
/** Several looks. */
const whileMs = 60 * secondMs;

/** Types of the conditions. */
function shown(core: Core, name: string): readonly string[] {
  const status = core.protector(`deployment-${name}`)?.status as { conditions?: readonly Condition[] } | undefined;
  return (status?.conditions ?? []).map(({ type }) => type).filter((type) => type !== "Ready");
}

test("many objects are written at most five a second", async () => {
  const { core, generator } = await startWithConditions();
  for (let index = 0; index < 40; index += 1) await core.createDeployment(`stuck-${index}`, { spec: undrainable });
  await core.clock.advance(12 * secondMs);
  const times: number[] = [];
  generator.client.onWrite = (_, { method }) => {
    if (method === "PUT") times.push(core.clock.monotonicMs());
    return undefined;
  };
  await core.clock.advance(whileMs);
  assert.equal(times.length, 40);
  for (const [index, atMs] of times.entries()) assert.ok((times[index + 5] ?? Infinity) - atMs >= secondMs);
});

test("a CRD that drops conditions is said once, and tried again in an hour", async () => {
  const { core, generator } = await startWithConditions();
  await core.engine.installCrd(upstreamPodProtectorCrd());
  for (const name of ["one", "two"]) await core.createDeployment(name, { spec: undrainable });
  await core.clock.advance(3_500 * secondMs);
  assert.equal(generator.client.writes.filter((what) => what.endsWith("/status")).length, 1);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);
  assert.equal(generator.metrics.value("generator_source_condition_failures_total", { error: "dropped" }), 1);
  await core.clock.advance(300 * secondMs);
  assert.equal(generator.client.writes.filter((what) => what.endsWith("/status")).length, 2);
});

test("objects that are refused are left alone for ten minutes, and the others are written", async () => {
  const { core, generator } = await startWithConditions();
  for (const name of ["denied-1", "denied-2", "web"]) await core.createDeployment(name, { spec: undrainable });
  const asked: number[] = [];
  generator.client.onWrite = (_, { method, path }) => {
    if (method !== "PUT" || !path.includes("denied")) return undefined;
    asked.push(core.clock.monotonicMs());
    return new KubeError("forbidden", "a policy denies it");
  };
  await core.clock.advance(500 * secondMs);
  assert.deepEqual(shown(core, "web"), ["Undrainable"]);
  assert.equal(asked.length, 2);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);
  assert.equal(generator.metrics.value("generator_source_condition_failures_total", { error: "forbidden" }), 2);
  await core.clock.advance(300 * secondMs);
  assert.equal(asked.length, 4);
  generator.client.onWrite = () => undefined;
  await core.clock.advance(600 * secondMs);
  assert.deepEqual(shown(core, "denied-1"), ["Undrainable"]);
  assert.equal(generator.logger.entries.filter(({ level }) => level === "warn").length, 1);
});

test("one object that cannot be written does not keep the others waiting", async () => {
  const { core, generator } = await startWithConditions();
  for (const name of ["one", "two"]) await core.createDeployment(name, { spec: undrainable });
  generator.client.onWrite = (_, { path }) => (path.includes("deployment-one/status") ? "before" : undefined);
  await core.clock.advance(whileMs);
  assert.deepEqual([shown(core, "one"), shown(core, "two")], [[], ["Undrainable"]]);
});

/** Of the object of the Deployment of that name. */
function readyIn(core: Core, name: string): Condition | undefined {
  const status = core.protector(`deployment-${name}`)?.status as { conditions?: readonly Condition[] } | undefined;
  return readyOf(status?.conditions);
}
const counted = [{ cellID: "a", aggregation: { totalReplicas: 10, availableReplicas: 10 } }];

test("Ready follows from what is written, in the same write, with a whole summary", async () => {
  const { core, generator } = await startWithConditions();
  await core.createDeployment("stuck", { spec: undrainable });
  await core.clock.advance(secondMs);
  await core.writeCells("deployment-stuck", counted);
  await core.clock.advance(whileMs);
  assert.partialDeepStrictEqual(readyIn(core, "stuck"), { status: "True", reason: "Undrainable" });
  assert.equal(generator.client.writes.filter((what) => what.endsWith("/status")).length, 1);
  assert.partialDeepStrictEqual(core.protector("deployment-stuck")?.status?.["summary"], {
    aggregatedAvailableReplicas: 10,
    disruptionsAllowed: 0,
    countedCells: 1,
  });
});

test("a counted object without Ready gets it once, and not while a Go component drops it", async () => {
  const { core, generator } = await startWithConditions();
  await core.createDeployment("web");
  await core.clock.advance(whileMs);
  assert.equal(readyIn(core, "web"), undefined, "the first counts bring it");
  await core.writeCells("deployment-web", counted);
  await core.clock.advance(whileMs);
  assert.partialDeepStrictEqual(readyIn(core, "web"), { status: "True", reason: "Ready" });
  const drop = { contentType: "application/merge-patch+json", body: { status: { conditions: null } } };
  await core.engine.patch(core.protectorType, "default", "deployment-web", drop, { subresource: "status" });
  await core.clock.advance(3_600 * secondMs);
  assert.equal(readyIn(core, "web"), undefined);
  assert.equal(generator.client.writes.filter((what) => what.endsWith("/status")).length, 1);
});
