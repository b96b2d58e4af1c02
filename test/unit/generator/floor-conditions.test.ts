import assert from "node:assert/strict";
import { test } from "node:test";
import { type DeploymentFacts } from "../../../src/api/deployment.ts";
import { type FoundConditions } from "../../../src/api/v1alpha1/conditions.ts";
import { floorConditions } from "../../../src/generator/floor-conditions.ts";
import { floorOf, type FloorRule } from "../../../src/generator/floor.ts";

const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };

function found(changes: Partial<DeploymentFacts>, by: Partial<FloorRule> = {}): FoundConditions {
  const facts: DeploymentFacts = {
    name: "web",
    namespace: "default",
    uid: "d-1",
    replicas: 3,
    minReadySeconds: 0,
    selector: {},
    strategy: "RollingUpdate",
    maxUnavailable: undefined,
    maxSurge: undefined,
    ...changes,
  };
  return floorConditions(facts, floorOf(facts, { ...rule, ...by }));
}

test("a floor that can be drained and protects something has neither condition", () => {
  assert.deepEqual(found({}), { Undrainable: false, Unprotected: false });
  assert.deepEqual(found({ replicas: 0 }), { Undrainable: false, Unprotected: false });
});

test("each reason of an undrainable Deployment says what sets the floor", () => {
  for (const [conditions, reason, why] of [
    [found({ maxUnavailable: 0 }), "MaxUnavailableZero", /Deployment web must stay: its maxUnavailable is 0\./],
    [found({}, { percentRounding: "down" }), "RoundedDownToZero", /rounds down to 0 \(--generator-percent-rounding=/],
    [found({ replicas: 1 }, { singleReplica: "protected" }), "SingleReplica", /--generator-single-replica=protected/],
  ] as const) {
    assert.partialDeepStrictEqual(conditions, { Undrainable: { reason }, Unprotected: false });
    assert.match(conditions.Undrainable === false ? "" : (conditions.Undrainable?.message ?? ""), why);
  }
});

test("each reason of an unprotected Deployment says why nothing must stay", () => {
  for (const [conditions, reason, why] of [
    [
      found({ replicas: 1 }),
      "SingleReplica",
      /only one, which its maxUnavailable lets go; run two, or see --generator-/,
    ],
    [found({ maxUnavailable: "100%" }), "MaxUnavailableCoversReplicas", /its maxUnavailable lets all of them go$/],
    [found({ strategy: "Recreate" }), "Recreate", /its strategy Recreate takes all of them away$/],
  ] as const) {
    assert.partialDeepStrictEqual(conditions, { Unprotected: { reason }, Undrainable: false });
    assert.match(conditions.Unprotected === false ? "" : (conditions.Unprotected?.message ?? ""), why);
  }
});

test("scaling alone changes no condition, so it costs no write", () => {
  for (const maxUnavailable of [0, "100%"])
    assert.deepEqual(found({ replicas: 3, maxUnavailable }), found({ replicas: 300, maxUnavailable }));
});
