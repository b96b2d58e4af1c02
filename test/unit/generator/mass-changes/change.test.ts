import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { causeOfLowered, formerFloorOf, judge, type Subject } from "../../../../src/generator/mass-changes/change.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { after, deployment, managed, noon, protector, rule } from "./samples.ts";

const replicas = { "f:spec": { "f:replicas": {} } };
const strategy = { "f:spec": { "f:strategy": {} } };
const deleted = { deletionTimestamp: "2026-01-01T12:00:00Z" };
const all = { strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "100%" } } };

/** What is judged, in short: the kind, or the cause of what counts. */
function judged(subject: Partial<Subject> & Pick<Subject, "source">): string {
  const found = judge(
    { protector: protector(6), to: 0, settled: undefined, isRestored: false, ...subject },
    rule,
    noon,
  );
  return found.kind === "counts" ? found.change.cause.text : found.kind;
}

test("the cause of a deletion is the kind of the owner, or else the namespace", () => {
  const owned = (apiVersion: string) => ({ ownerReferences: [{ apiVersion, kind: "App", name: "a", uid: "u" }] });
  const release = (metadata: object) => judged({ source: deployment(8, { ...deleted, ...metadata }), to: undefined });
  assert.deepEqual(
    [release({}), release(owned("example.com/v1")), release(owned("v1"))],
    ["namespace/shop", "owner/App.example.com", "owner/App"],
  );
});

test("the cause of scaling is the manager with its subresource, or unknown", () => {
  const by = (...managedFields: object[]) => judged({ source: deployment(0, { managedFields }) });
  assert.deepEqual(
    [by(managed("helm", replicas)), by(managed("keda", replicas, "scale")), by()],
    ["manager/helm", "manager/keda/scale", "manager/unknown"],
  );
});

test("the cause of an edit is the manager of the field that changed", () => {
  const managedFields = [managed("scaler", replicas), { ...managed("editor", strategy), time: "2026-01-01T12:00:01Z" }];
  const source = deployment(8, { managedFields }, all);
  assert.equal(judged({ source, settled: deployment(8) }), "manager/editor");
  assert.equal(judged({ source }), "manager/editor");
  assert.equal(judged({ source: deployment(2, { managedFields }), settled: deployment(8) }), "manager/scaler");
});

test("the cause of an override that lowers the floor is the manager of the annotation, an autoscaler or not", () => {
  const key = "podseidon.kubewharf.io/min-available";
  const own = { "f:metadata": { "f:annotations": { [`f:${key}`]: {} } } };
  const scaled = managed("hpa", replicas, "scale");
  const of = (count: number, manager = "ops") =>
    deployment(count, { annotations: { [key]: "0" }, managedFields: [managed(manager, own), scaled] });
  assert.equal(judged({ source: of(8), settled: deployment(8) }), "manager/ops");
  assert.equal(judged({ source: of(9), settled: deployment(8) }), "manager/ops", "scaled at the same time");
  assert.equal(judged({ source: of(8) }), "manager/ops", "nobody knows how it was before");
  assert.equal(judged({ source: of(8, "night"), settled: deployment(8) }), "exempt");
  assert.equal(judged({ source: of(0), settled: of(8) }), "own", "its floor was to be 0 already");
  const removed = deployment(8, {}, all);
  assert.equal(judged({ source: removed, settled: deployment(8, { annotations: { [key]: "6" } }) }), "manager/unknown");
  assert.deepEqual(causeOfLowered(of(8), rule), { text: "manager/ops", isHalfTooMany: true });
});

test("an opt-out by annotation counts, also where nobody knows how it was before", () => {
  const key = "podseidon.kubewharf.io/protect";
  const own = { "f:metadata": { "f:annotations": { [`f:${key}`]: {} } } };
  const source = deployment(8, { annotations: { [key]: "false" }, managedFields: [managed("ops", own)] });
  assert.equal(judged({ source, settled: deployment(8), to: undefined }), "manager/ops");
  assert.equal(judged({ source, to: undefined }), "manager/ops");
});

test("scaling to a number above 0 through the subresource, and allowed managers, are exempt", () => {
  const scaled = deployment(1, { managedFields: [managed("hpa", replicas, "scale")] });
  assert.equal(judged({ source: scaled, settled: deployment(8) }), "exempt");
  assert.equal(causeOfLowered(scaled, rule), undefined);
  const night = deployment(0, { managedFields: [managed("night", replicas)] });
  assert.equal(judged({ source: night }), "exempt");
  assert.equal(causeOfLowered(night, rule), undefined);
  assert.deepEqual(causeOfLowered(deployment(0), rule), { text: "manager/unknown", isHalfTooMany: true });
});

test("a scale to 0 that left no name is presumed to be by whoever scaled before, through the subresource", () => {
  const by = (manager: string, subresource?: string) =>
    deployment(8, { managedFields: [managed(manager, replicas, subresource)] });
  const zero = (settled: SourceRecord | undefined) => judged({ source: deployment(0), settled });
  assert.equal(zero(by("night", "scale")), "exempt");
  assert.equal(zero(by("night")), "manager/unknown", "that was no scaler");
  assert.equal(zero(by("hpa", "scale")), "manager/unknown", "nobody is blamed for what another may have done");
  assert.equal(zero(undefined), "manager/unknown");
  const edited = deployment(0, { managedFields: [managed("helm", replicas)] });
  assert.equal(judged({ source: edited, settled: by("night", "scale") }), "manager/helm");
  assert.equal(judged({ source: deployment(1), settled: by("night", "scale") }), "manager/unknown", "1 keeps its name");
});

test("a floor that falls to half or above does not count, unless it was higher within the window", () => {
  assert.equal(judged({ source: deployment(4), settled: deployment(8), to: 3 }), "small");
  const before = protector(6, { [annotations.floorBefore]: "10@2026-01-01T12:00:00Z" });
  const stepwise = { isRestored: false, protector: before, source: deployment(5), settled: deployment(8), to: 4 };
  assert.equal(judged(stepwise), "manager/unknown");
  assert.equal(judge(stepwise, rule, after(700)).kind, "small");
});

test("what a flag, a rounding, a release of ours or an edited PodProtector changes is our own", () => {
  assert.equal(judged({ protector: protector(1), source: deployment(1) }), "own");
  const person = { isRestored: false, protector: protector(100), source: deployment(8), settled: deployment(8), to: 6 };
  assert.equal(judge(person, rule, noon).kind, "own");
});

test("a source that is no longer selected counts when its labels were seen to change", () => {
  const managedFields = [managed("labeller", { "f:metadata": { "f:labels": {} } })];
  const source = deployment(8, { labels: { protect: "no" }, managedFields });
  const release = { source, to: undefined };
  assert.equal(judged({ ...release, settled: deployment(8, { labels: { protect: "yes" } }) }), "manager/labeller");
  assert.equal(judged({ ...release, settled: source }), "own");
  assert.equal(judged(release), "own");
});

test("the cause of a floor that a restore of the core has lowered is the restore, whoever wrote the fields", () => {
  const scaled = deployment(1, { managedFields: [managed("hpa", replicas, "scale")] });
  assert.equal(judged({ source: scaled, isRestored: true }), "restored");
  assert.equal(judged({ source: deployment(4), to: 3, isRestored: true }), "small");
  assert.equal(judged({ source: deployment(8, deleted), to: undefined, isRestored: true }), "namespace/shop");
});

test("of a floor that several workloads make up one that fell far counts, however little the floor falls", () => {
  const source = deployment(8, { managedFields: [managed("hpa", replicas, "scale")] });
  const falls = { source, settled: deployment(9), protector: protector(7), to: 6 };
  assert.equal(judged(falls), "small");
  assert.equal(judged({ ...falls, fallen: [] }), "small");
  assert.equal(judged({ ...falls, fallen: ["digest"] }), "manager/hpa/scale", "no autoscaler has let it fall so");
});

test("what is put in shadow counts for whoever switched the namespace, unless it was a flag or is allowed", () => {
  const source = deployment(8);
  const shadowed = (manager: string | undefined, from = 6) => {
    const by = manager === undefined ? undefined : { manager, subresource: undefined, time: noon };
    return judged({ source, to: "shadow", switched: { by }, protector: protector(from) });
  };
  assert.deepEqual(
    [shadowed("tool"), shadowed(undefined), shadowed("night"), judged({ source, to: "shadow" })],
    ["manager/tool", "manager/unknown", "exempt", "own"],
  );
});

test("no flag and no allowed manager that puts it in shadow excuses a floor that somebody takes meanwhile", () => {
  const by = { manager: "night", subresource: undefined, time: noon };
  const source = deployment(0, { managedFields: [managed("tool", replicas)] });
  const lowered = (subject: Partial<Subject>) => judged({ source, to: "shadow", settled: deployment(8), ...subject });
  assert.deepEqual([lowered({}), lowered({ switched: { by } })], ["manager/tool", "manager/tool"]);
});

test("the floor of the source as it was last in order is the former one, whatever the PodProtector says", () => {
  assert.equal(formerFloorOf(protector(100), deployment(0).spec, deployment(8).spec, rule), 6);
});

test("a floor that any rule makes of the present source was not changed by the source", () => {
  // One replica, protected by a former setting; seven, by upstream's rounding and by ours.
  assert.equal(formerFloorOf(protector(1), deployment(1).spec, undefined, rule), 0);
  assert.equal(formerFloorOf(protector(5), deployment(7).spec, undefined, rule), 6);
});

test("any other floor is what the source had", () => {
  assert.equal(formerFloorOf(protector(6), deployment(0).spec, undefined, rule), 6);
});
