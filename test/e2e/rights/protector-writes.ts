/** Writes of PodProtectors that accounts may and may not make in the stage of rights-stage.ts. */
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type AccountWrite, add, note, remove, replace } from "./account-write.ts";
import { type Stage, time } from "./rights-stage.ts";

const condition = (type: string): unknown => ({
  type,
  status: "True",
  reason: "Test",
  message: "",
  lastTransitionTime: "2026-01-31T14:00:00Z",
});
const bucket = { startTime: time, podUID: "00000000-0000-0000-0000-000000000000", podResourceVersion: "7" };

export function statusWrites({ protectorPath }: Stage): readonly AccountWrite[] {
  const path = `${protectorPath("web")}/status`;
  const cell = (index: number): string => `/status/cells/${index}`;
  const [own, other, third] = [cell(0), cell(1), cell(2)];
  const counts = (place: string): string => `${place}/aggregation/availableReplicas`;
  const buckets = (place: string): string => `${place}/admissionHistory/buckets`;
  const by = "aggregator-worker-1";
  const total = "/status/summary/totalReplicas";
  return [
    { by, verdict: "allowed", what: "counts its cell", path, put: [replace(counts(own), 6), replace(total, 11)] },
    { by, verdict: "allowed", what: "settles in its cell", path, put: [replace(buckets(own), [])] },
    {
      by,
      verdict: "allowed",
      what: "says AtFloor, and Ready with it",
      path,
      put: [replace("/status/conditions/0", condition("AtFloor")), add("/status/conditions/-", condition("Ready"))],
    },
    { by, verdict: "policy", what: "counts more pods in another cell", path, put: [replace(counts(other), 1_000_000)] },
    { by, verdict: "policy", what: "forgets admissions of another cell", path, put: [replace(buckets(other), [])] },
    { by, verdict: "policy", what: "removes another cell", path, put: [remove(other)] },
    { by, verdict: "policy", what: "invents a cell", path, put: [add(third, { cellID: "worker-3" })] },
    { by, verdict: "policy", what: "swaps two other cells", path, put: [replace(`${other}/cellID`, "worker-9")] },
    {
      by,
      verdict: "policy",
      what: "says that a cell is silent",
      path,
      put: [replace("/status/conditions/1", condition("CellSilent"))],
    },
    {
      by,
      verdict: "policy",
      what: "writes a time that others would rewrite",
      path,
      put: [replace(`${own}/aggregation/countedAt`, "2026-01-31T14:00:00Z")],
    },
    {
      by,
      verdict: "policy",
      what: "writes a version that others would drop",
      path,
      put: [replace(`${own}/aggregation/resourceVersion`, "x")],
    },
    {
      by,
      verdict: "policy",
      what: "writes a bucket that others would rewrite",
      path,
      put: [replace(`${buckets(own)}/0`, { ...bucket, startTime: "2026-01-31T14:00:00+00:00" })],
    },
    { by, verdict: "policy", what: "drops its counts", path, put: [remove(`${own}/aggregation`)] },
    { by, verdict: "policy", what: "makes up an admission", path, put: [add(`${buckets(own)}/-`, bucket)] },
    {
      by,
      verdict: "policy",
      what: "packs more than a history holds",
      path,
      put: [add(`${buckets(own)}/0/podUIDDigests`, "A".repeat(32_772))],
    },
    {
      by,
      verdict: "policy",
      what: "fills the status by a hash",
      path,
      put: [add(`${own}/aggregation/countedSpec`, "0".repeat(65))],
    },
    {
      by,
      verdict: "rbac",
      what: "edits a PodProtector",
      path: protectorPath("web"),
      patch: [replace("/spec/minAvailable", 0)],
    },
    { by, verdict: "rbac", what: "deletes a PodProtector", path: protectorPath("web"), remove: { dryRun: false } },
    { by: "webhook", verdict: "allowed", what: "records an admission", path, put: [add(`${buckets(own)}/-`, bucket)] },
    {
      by: "webhook",
      verdict: "policy",
      what: "records a time that others would rewrite",
      path,
      put: [add(`${buckets(own)}/-`, { ...bucket, startTime: "2026-01-31T14:00:00Z" })],
    },
    {
      by: "webhook",
      verdict: "policy",
      what: "records a version that others would drop",
      path,
      put: [add(`${buckets(other)}/-`, { ...bucket, podResourceVersion: "007" })],
    },
    { by: "webhook", verdict: "policy", what: "counts", path, put: [replace(counts(own), 1_000_000)] },
    { by: "webhook", verdict: "policy", what: "invents a cell", path, put: [add(third, { cellID: "worker-3" })] },
    { by: "webhook", verdict: "policy", what: "removes a cell", path, put: [remove(other)] },
    {
      by: "webhook",
      verdict: "policy",
      what: "writes a condition",
      path,
      put: [add("/status/conditions/-", condition("BelowFloor"))],
    },
    {
      by: "webhook",
      verdict: "rbac",
      what: "edits a PodProtector",
      path: protectorPath("web"),
      patch: [replace("/spec/minAvailable", 0)],
    },
    { by: "generator", verdict: "allowed", what: "removes a cell", path, put: [remove(other)] },
    {
      by: "generator",
      verdict: "allowed",
      what: "says Dangling, and Ready with it",
      path,
      put: [replace("/status/conditions/1", condition("Dangling")), add("/status/conditions/-", condition("Ready"))],
    },
    { by: "generator", verdict: "policy", what: "counts", path, put: [replace(counts(own), 1_000_000)] },
    {
      by: "generator",
      verdict: "policy",
      what: "removes a cell and counts in another",
      path,
      put: [replace(counts(own), 7), remove(other)],
    },
    { by: "generator", verdict: "policy", what: "forgets admissions", path, put: [replace(buckets(own), [])] },
    { by: "generator", verdict: "policy", what: "invents a cell", path, put: [add(third, { cellID: "worker-3" })] },
    {
      by: "generator",
      verdict: "policy",
      what: "says AtFloor",
      path,
      put: [replace("/status/conditions/0", condition("AtFloor"))],
    },
  ];
}

export function protectorWrites({ protectorPath, protectorsPath, namespace }: Stage): readonly AccountWrite[] {
  const by = "generator";
  const [hand, follows, generated] = [protectorPath("hand"), protectorPath("follows"), protectorPath("generated")];
  const spec = { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } };
  const kind = { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector" };
  const create = (name: string, finalizers: readonly string[]): unknown => ({
    ...kind,
    metadata: { name, namespace, finalizers },
    spec,
  });
  return [
    {
      by,
      verdict: "allowed",
      what: "lowers the floor of its own",
      path: generated,
      patch: [replace("/spec/minAvailable", 1)],
    },
    {
      by,
      verdict: "allowed",
      what: "releases its own",
      path: generated,
      patch: [add("/metadata/annotations", { [annotations.released]: "true" })],
    },
    {
      by,
      verdict: "allowed",
      what: "sets a floor that follows",
      path: follows,
      patch: [replace("/spec/minAvailable", 1)],
    },
    {
      by,
      verdict: "allowed",
      what: "ends a request to remove a cell",
      path: hand,
      patch: [remove(note(annotations.removeCellOnce))],
    },
    { by, verdict: "allowed", what: "creates its own", path: protectorsPath, create: create("new", [finalizer]) },
    {
      by,
      verdict: "policy",
      what: "lowers a floor that people set",
      path: hand,
      patch: [replace("/spec/minAvailable", 0)],
    },
    {
      by,
      verdict: "policy",
      what: "changes a selector that people set",
      path: follows,
      patch: [replace("/spec/selector/matchLabels/app", "no")],
    },
    {
      by,
      verdict: "policy",
      what: "releases one that people made",
      path: hand,
      patch: [add(note(annotations.released), "true")],
    },
    {
      by,
      verdict: "policy",
      what: "takes one that people made",
      path: hand,
      patch: [add("/metadata/finalizers", [finalizer])],
    },
    { by, verdict: "policy", what: "deletes one that people made", path: hand, remove: { dryRun: false } },
    { by, verdict: "policy", what: "creates one as people do", path: protectorsPath, create: create("forged", []) },
  ];
}
