/** Reading and arithmetic of Deployments; the shared part of the arithmetic is in floor.test.ts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deployments } from "../../../src/sources/deployment.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(spec: object, by = rule): string {
  const read = deployments.readSpec({ selector, ...spec });
  assert.ok(read !== undefined);
  const floor = read.floorBy(by);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}
const rolling = (rollingUpdate: object): object => ({ strategy: { type: "RollingUpdate", rollingUpdate } });

test("replicas, minReadySeconds and selector are read, the pod template is not", () => {
  const wanted = { ...selector, matchExpressions: [{ key: "k", operator: "In", values: ["v"] }] };
  const read = deployments.readSpec({ replicas: 3, minReadySeconds: 5, selector: wanted, template: { spec: {} } });
  const { floorBy: _, ...facts } = read!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector: wanted });
});

test("the floor follows the fields that the Deployment has, with Kubernetes' defaults", () => {
  const cases: readonly (readonly [spec: object, expected: string])[] = [
    [{}, "unprotected SingleReplica 0/1"],
    [{ replicas: 10 }, "drainable 8/10"],
    [{ replicas: 10, strategy: { type: "Other", rollingUpdate: null } }, "drainable 8/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: 3 }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: "30%", maxSurge: 0 }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: 0 }) }, "undrainable MaxUnavailableZero 10/10"],
    [{ replicas: 10, strategy: { type: "Recreate" } }, "unprotected Recreate 0/10"],
    [{ replicas: 0, strategy: { type: "Recreate" } }, "drainable 0/0"],
    [{ replicas: -5 }, "drainable 0/0"],
  ];
  for (const [spec, expected] of cases) assert.equal(stateOf(spec), expected, JSON.stringify(spec));
});

test("when maxUnavailable and maxSurge both come to 0 the rolling update takes one pod", () => {
  assert.equal(stateOf({ replicas: 10, ...rolling({ maxUnavailable: 0, maxSurge: 0 }) }), "drainable 9/10");
  assert.equal(
    stateOf({ replicas: 10, ...rolling({ maxUnavailable: "0%", maxSurge: "1%" }) }),
    "undrainable MaxUnavailableZero 10/10",
  );
  assert.equal(stateOf({ replicas: 1, ...rolling({ maxSurge: 0 }) }, protects), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({ replicas: 1, strategy: { type: "Recreate" } }, protects), "unprotected Recreate 0/1");
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  const near = { matchExpressions: [{ key: "k", operator: "Near" }] };
  for (const raw of [null, [], "x", {}, { selector: near }, { selector, replicas: "3" }])
    assert.equal(deployments.readSpec(raw), undefined, JSON.stringify(raw));
});
