import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector, type PodProtectorSpec } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  newSpec,
  optionalFieldsOf,
  optionalPatch,
  overriddenText,
  planFor,
} from "../../../../src/generator/sources/source-plan.ts";
import { readOverrides } from "../../../../src/sources/overrides.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { protector } from "../mass-changes/samples.ts";

const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;

function deployment(annotated: Readonly<Record<string, string>>): SourceRecord {
  const metadata = { name: "web", namespace: "default", uid: "d", resourceVersion: "1", annotations: annotated };
  const record = readSource(deployments, { metadata, spec: { selector: { matchLabels: { app: "web" } } } });
  assert.ok(record !== undefined);
  return record;
}

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
  const again = newSpec(having({ maxPodsPerCell: 50 }), planFor(deployment({}), rule));
  assert.equal(again.maxPodsPerCell, 50);
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

/** What the specs have besides what each PodProtector of the Deployment has. */
function made(former: PodProtector | undefined, optional: object, source = deployment({})): Partial<PodProtectorSpec> {
  const {
    minAvailable: _a,
    minReadySeconds: _r,
    selector: _s,
    ...more
  } = newSpec(former, {
    ...planFor(source, rule),
    optional,
  });
  return more;
}

test("a new object leaves out pods of owners that cannot be the workload's, and of those that it names", () => {
  assert.deepEqual(made(undefined, {}), { foreignOwners: ["DaemonSet.apps", "Job.batch", "Node"] });
  const named = deployment({ "podseidon.kubewharf.io/foreign-owners": "Workflow.argoproj.io, Job.batch" });
  const all = ["DaemonSet.apps", "Job.batch", "Node", "Workflow.argoproj.io"];
  assert.deepEqual(made(undefined, {}, named), { foreignOwners: all });
});

test("one that was made before the rule and is made again has no list, unless its owner names kinds", () => {
  assert.deepEqual(made(having({}), {}), {});
  const none = deployment({ "podseidon.kubewharf.io/foreign-owners": "" });
  assert.deepEqual(made(having({}), {}, none).foreignOwners, ["DaemonSet.apps", "Job.batch", "Node"]);
  assert.deepEqual(made(having({ foreignOwners: ["Node"] }), {}).foreignOwners?.length, 3);
});

test("an object that is made again has what people had set, and what is overridden now", () => {
  const former = having(
    { healthCriterion: "Ready", admissionHistoryConfig: { compactThreshold: 7, maxConcurrentLag: 1 } },
    "healthCriterion,maxConcurrentLag",
  );
  assert.deepEqual(made(former, { aggregationRateMillis: 5 }), {
    admissionHistoryConfig: { compactThreshold: 7, aggregationRateMillis: 5 },
  });
});
