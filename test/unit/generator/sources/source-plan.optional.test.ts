import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector, type PodProtectorSpec } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  newOptional,
  optionalFieldsOf,
  optionalPatch,
  overriddenText,
} from "../../../../src/generator/sources/source-plan.ts";
import { readOverrides } from "../../../../src/sources/overrides.ts";
import { protector } from "../mass-changes/samples.ts";

function having(spec: Partial<PodProtectorSpec>, overridden?: string): PodProtector {
  const found = protector(1, overridden === undefined ? {} : { [annotations.overridden]: overridden });
  return { ...found, spec: { ...found.spec, ...spec } };
}

test("what overrides set is listed, without what the CRD drops", () => {
  const overrides = readOverrides({
    "podseidon.kubewharf.io/health-criterion": "Ready",
    "podseidon.kubewharf.io/max-pods-per-cell": "50",
    "podseidon.kubewharf.io/compact-threshold": "7",
  });
  const wanted = optionalFieldsOf(overrides, new Set());
  assert.deepEqual(wanted, { healthCriterion: "Ready", maxPodsPerCell: 50, compactThreshold: 7 });
  assert.equal(overriddenText(wanted), "healthCriterion,maxPodsPerCell,compactThreshold");
  assert.deepEqual(optionalFieldsOf(overrides, new Set(["healthCriterion"])), {
    maxPodsPerCell: 50,
    compactThreshold: 7,
  });
  assert.deepEqual(optionalFieldsOf(overrides, new Set(["healthCriterion", "maxPodsPerCell"])), {
    compactThreshold: 7,
  });
  assert.equal(overriddenText({}), undefined);
});

test("a limit for a cell is a field of the spec, and goes with its annotation alone", () => {
  assert.deepEqual(optionalPatch(having({}), { maxPodsPerCell: 50 }), { maxPodsPerCell: 50 });
  assert.deepEqual(optionalPatch(having({ maxPodsPerCell: 50 }, "maxPodsPerCell"), {}), { maxPodsPerCell: null });
  assert.deepEqual(optionalPatch(having({ maxPodsPerCell: 50 }), {}), {});
  assert.deepEqual(newOptional(having({ maxPodsPerCell: 50 }), {}), { maxPodsPerCell: 50 });
});

test("what is no longer overridden is taken away, and what people have set stays", () => {
  const tuned = { healthCriterion: "Ready", admissionHistoryConfig: { compactThreshold: 7, maxConcurrentLag: 1 } };
  assert.deepEqual(optionalPatch(having(tuned), {}), {});
  assert.deepEqual(optionalPatch(having(tuned, "healthCriterion,maxConcurrentLag"), {}), {
    healthCriterion: null,
    admissionHistoryConfig: { maxConcurrentLag: null },
  });
  assert.deepEqual(optionalPatch(having(tuned), { healthCriterion: "Ready", compactThreshold: 8 }), {
    admissionHistoryConfig: { compactThreshold: 8 },
  });
});

test("an object that is made again has what people had set, and what is overridden now", () => {
  const former = having(
    { healthCriterion: "Ready", admissionHistoryConfig: { compactThreshold: 7, maxConcurrentLag: 1 } },
    "healthCriterion,maxConcurrentLag",
  );
  assert.deepEqual(newOptional(former, { aggregationRateMillis: 5 }), {
    admissionHistoryConfig: { compactThreshold: 7, aggregationRateMillis: 5 },
  });
  assert.deepEqual(newOptional(undefined, {}), {});
});
