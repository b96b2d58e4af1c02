/** Writes of PodProtectors that accounts may and may not make in the stage of rights-stage.ts. */
import { annotations, finalizer } from "../../../src/api/v1alpha1/names.ts";
import { type AccountWrite, add, note, remove, replace, put, patch, writesOf } from "./account-write.ts";
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
  const total = "/status/summary/totalReplicas";
  return [
    ...writesOf("aggregator-worker-1", [
      ["allowed", "counts its cell", path, put(replace(counts(own), 6), replace(total, 11))],
      ["allowed", "settles in its cell", path, put(replace(buckets(own), []))],
      [
        "allowed",
        "says AtFloor, and Ready with it",
        path,
        put(replace("/status/conditions/0", condition("AtFloor")), add("/status/conditions/-", condition("Ready"))),
      ],
      ["policy", "counts more pods in another cell", path, put(replace(counts(other), 1_000_000))],
      [
        "policy",
        "says a number of pods that stops the writes of all",
        path,
        put(replace(`${own}/aggregation/totalReplicas`, 2_147_483_647)),
      ],
      ["policy", "forgets admissions of another cell", path, put(replace(buckets(other), []))],
      ["policy", "removes another cell", path, put(remove(other))],
      ["policy", "invents a cell", path, put(add(third, { cellID: "worker-3" }))],
      ["policy", "swaps two other cells", path, put(replace(`${other}/cellID`, "worker-9"))],
      ["policy", "says that a cell is silent", path, put(replace("/status/conditions/1", condition("CellSilent")))],
      [
        "policy",
        "writes a time that others would rewrite",
        path,
        put(replace(`${own}/aggregation/countedAt`, "2026-01-31T14:00:00Z")),
      ],
      [
        "policy",
        "writes a version that others would drop",
        path,
        put(replace(`${own}/aggregation/resourceVersion`, "x")),
      ],
      [
        "policy",
        "writes a bucket that others would rewrite",
        path,
        put(replace(`${buckets(own)}/0`, { ...bucket, startTime: "2026-01-31T14:00:00+00:00" })),
      ],
      ["policy", "drops its counts", path, put(remove(`${own}/aggregation`))],
      ["policy", "makes up an admission", path, put(add(`${buckets(own)}/-`, bucket))],
      [
        "policy",
        "packs more than a history holds",
        path,
        put(add(`${buckets(own)}/0/podUIDDigests`, "A".repeat(32_772))),
      ],
      ["policy", "fills the status by a hash", path, put(add(`${own}/aggregation/countedSpec`, "0".repeat(65)))],
      ["rbac", "edits a PodProtector", protectorPath("web"), patch(replace("/spec/minAvailable", 0))],
      ["rbac", "deletes a PodProtector", protectorPath("web"), { remove: { dryRun: false } }],
    ]),
    ...writesOf("webhook", [
      ["allowed", "records an admission", path, put(add(`${buckets(own)}/-`, bucket))],
      [
        "policy",
        "records a time that others would rewrite",
        path,
        put(add(`${buckets(own)}/-`, { ...bucket, startTime: "2026-01-31T14:00:00Z" })),
      ],
      [
        "policy",
        "records a version that others would drop",
        path,
        put(add(`${buckets(other)}/-`, { ...bucket, podResourceVersion: "007" })),
      ],
      ["policy", "counts", path, put(replace(counts(own), 1_000_000))],
      ["policy", "invents a cell", path, put(add(third, { cellID: "worker-3" }))],
      ["policy", "removes a cell", path, put(remove(other))],
      ["policy", "writes a condition", path, put(add("/status/conditions/-", condition("BelowFloor")))],
      ["rbac", "edits a PodProtector", protectorPath("web"), patch(replace("/spec/minAvailable", 0))],
    ]),
    ...writesOf("generator", [
      ["allowed", "removes a cell", path, put(remove(other))],
      [
        "allowed",
        "says Dangling, and Ready with it",
        path,
        put(replace("/status/conditions/1", condition("Dangling")), add("/status/conditions/-", condition("Ready"))),
      ],
      ["policy", "counts", path, put(replace(counts(own), 1_000_000))],
      ["policy", "removes a cell and counts in another", path, put(replace(counts(own), 7), remove(other))],
      ["policy", "forgets admissions", path, put(replace(buckets(own), []))],
      ["policy", "invents a cell", path, put(add(third, { cellID: "worker-3" }))],
      ["policy", "says AtFloor", path, put(replace("/status/conditions/0", condition("AtFloor")))],
    ]),
  ];
}

export function protectorWrites({ protectorPath, protectorsPath, namespace }: Stage): readonly AccountWrite[] {
  const [hand, follows, generated] = [protectorPath("hand"), protectorPath("follows"), protectorPath("generated")];
  const spec = { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } };
  const kind = { apiVersion: "podseidon.kubewharf.io/v1alpha1", kind: "PodProtector" };
  const create = (name: string, finalizers: readonly string[]): unknown => ({
    ...kind,
    metadata: { name, namespace, finalizers },
    spec,
  });
  return writesOf("generator", [
    ["allowed", "lowers the floor of its own", generated, patch(replace("/spec/minAvailable", 1))],
    ["allowed", "releases its own", generated, patch(add("/metadata/annotations", { [annotations.released]: "true" }))],
    ["allowed", "sets a floor that follows", follows, patch(replace("/spec/minAvailable", 1))],
    ["allowed", "ends a request to remove a cell", hand, patch(remove(note(annotations.removeCellOnce)))],
    ["allowed", "creates its own", protectorsPath, { create: create("new", [finalizer]) }],
    ["policy", "lowers a floor that people set", hand, patch(replace("/spec/minAvailable", 0))],
    ["policy", "changes a selector that people set", follows, patch(replace("/spec/selector/matchLabels/app", "no"))],
    ["policy", "releases one that people made", hand, patch(add(note(annotations.released), "true"))],
    ["policy", "takes one that people made", hand, patch(add("/metadata/finalizers", [finalizer]))],
    ["policy", "deletes one that people made", hand, { remove: { dryRun: false } }],
    ["policy", "creates one as people do", protectorsPath, { create: create("forged", []) }],
  ]);
}
