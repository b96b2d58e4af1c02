import assert from "node:assert/strict";
import { test } from "node:test";
import { type FoundConditions } from "../../../../src/api/v1alpha1/conditions.ts";
import { floorConditions, sourceConditionsOf } from "../../../../src/generator/conditions/source-conditions.ts";
import { type DroppedFields } from "../../../../src/generator/sources/source-plan.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { podUnavailableBudgets } from "../../../../src/sources/budgets/pod-unavailable-budget.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type FloorRule } from "../../../../src/sources/floor.ts";

const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };

interface Fields {
  readonly replicas?: number;
  readonly strategy?: string;
  readonly maxUnavailable?: number | string;
}

function found({ replicas = 3, strategy, maxUnavailable }: Fields, by: Partial<FloorRule> = {}): FoundConditions {
  const rollingUpdate = maxUnavailable === undefined ? null : { maxUnavailable };
  const spec = deployments.readSpec({ replicas, selector: {}, strategy: { type: strategy, rollingUpdate } });
  assert.ok(spec !== undefined);
  return floorConditions({ kind: deployments, name: "web" }, spec.floorBy({ ...rule, ...by }));
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

test("a budget that guards no deletions says so", () => {
  const floor = { minAvailable: 0, replicas: 3, kind: "unprotected", reason: "DeletionsNotGuarded" } as const;
  const { Unprotected } = floorConditions({ kind: podUnavailableBudgets, name: "web" }, floor);
  const message = "No replica of PodUnavailableBudget web must stay: it guards neither deletions nor evictions";
  assert.deepEqual(Unprotected, { reason: "DeletionsNotGuarded", message });
});

test("scaling alone changes no condition, so it costs no write", () => {
  for (const maxUnavailable of [0, "100%"])
    assert.deepEqual(found({ replicas: 3, maxUnavailable }), found({ replicas: 300, maxUnavailable }));
});

function overriddenBy(values: Readonly<Record<string, string>>, dropped: DroppedFields = new Set()): FoundConditions {
  const annotations = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`podseidon.kubewharf.io/${name}`, value]),
  );
  const source = readSource(deployments, {
    metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "1", annotations },
    spec: { replicas: 3, selector: {} },
  });
  return sourceConditionsOf(source!, rule, dropped);
}

test("an override that sets the floor is named in its conditions", () => {
  for (const [found, type, text] of [
    [overriddenBy({ "min-available": "3" }), "Undrainable", /its annotation .*\/min-available asks for all of them/],
    [overriddenBy({ "min-available": "0" }), "Unprotected", /its annotation .*\/min-available asks for none/],
    [
      overriddenBy({ "max-unavailable": "0" }),
      "Undrainable",
      /\/max-unavailable is 0\. .* nor an update that takes pods/,
    ],
    [overriddenBy({ "max-unavailable": "3" }), "Unprotected", /\/max-unavailable lets all of them go/],
  ] as const)
    assert.match(JSON.stringify(found[type]), text);
});

test("annotations that are ignored, and a criterion that the CRD drops, are one condition", () => {
  assert.equal(overriddenBy({ "health-criterion": "Ready" }).OverrideIgnored, false);
  const found = overriddenBy({ "health-criterion": "Ready", "min-available": "x" }, new Set(["healthCriterion"]));
  assert.match(
    JSON.stringify(found.OverrideIgnored),
    /min-available=.*\. Ignoring .* does not know spec.healthCriterion/,
  );
  const limited = overriddenBy({ "max-pods-per-cell": "5" }, new Set(["healthCriterion", "maxPodsPerCell"]));
  assert.match(
    JSON.stringify(limited.OverrideIgnored),
    /"Ignoring the annotation [^ ]*max-pods-per-cell: .* does not know spec.maxPodsPerCell/,
  );
});
