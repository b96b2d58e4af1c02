import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { type ReadDefinition } from "../../../../src/kube/pod-protectors.ts";
import { type Evidence, fateOf, type Marks, marksOf } from "../../../../src/webhook/protector/departure.ts";

const hourMs = 3_600_000;
const person: Marks = {
  maker: "person",
  isReleased: false,
  isTerminating: false,
  isDangling: false,
  neverHadFloor: false,
};
const ours: Marks = { ...person, maker: "generator" };
const letGo: Marks = { ...ours, isDangling: true, isTerminating: true };
const original: Marks = { ...person, maker: "original-generator" };
const absent: Evidence = {
  isDeletionSeen: false,
  goneForMs: 0,
  isLetGo: false,
  mayHaveBeenReleased: false,
  definition: undefined,
  definitionUID: "crd-1",
};
const there = (uid: string, isTerminating = false): ReadDefinition => ({ kind: "there", uid, isTerminating });
const under = (definition: ReadDefinition | undefined): Evidence => ({ ...absent, definition });
const after = (definition: ReadDefinition | undefined): Evidence => ({ ...under(definition), isDeletionSeen: true });
const error = new KubeError("serverError", "no");

/** Last state, evidence, fate: the reason of being gone, "tombstone", or "ask" for one that awaits the CRD. */
const table: readonly (readonly [string, Marks, Evidence, string, number?])[] = [
  ["what was marked as released", { ...ours, isReleased: true }, absent, "released"],
  ["what is in the generator's list", ours, { ...absent, isLetGo: true }, "let-go"],
  ["a hand-made one that a person lets go", person, { ...absent, isLetGo: true }, "let-go"],
  ["ours that is absent", ours, absent, "tombstone"],
  ["ours that was deleted", ours, after(there("crd-1")), "tombstone"],
  ["ours that is absent for long", ours, { ...absent, goneForMs: 100 * hourMs }, "tombstone"],
  [
    "ours that may have been released",
    ours,
    { ...absent, mayHaveBeenReleased: true, goneForMs: hourMs - 1 },
    "tombstone",
  ],
  [
    "ours that may have been released, after an hour",
    ours,
    { ...absent, mayHaveBeenReleased: true, goneForMs: hourMs },
    "perhaps-released",
  ],
  ["what never had a floor", { ...ours, neverHadFloor: true }, absent, "without-floor"],
  ["ours, deleted while dangling, before the CRD is read", letGo, absent, "ask"],
  ["ours, deleted while dangling", letGo, after(there("crd-1")), "deleted-while-dangling"],
  ["ours, deleted while dangling, and only absent", letGo, under(there("crd-1")), "deleted-while-dangling"],
  ["ours, dangling, deleted with its CRD", letGo, after(there("crd-1", true)), "tombstone"],
  ["ours, dangling, when the CRD is gone", letGo, under({ kind: "gone" }), "tombstone"],
  ["ours, dangling, under another CRD", letGo, after(there("crd-2")), "tombstone"],
  ["ours that dangles, and is absent", { ...ours, isDangling: true }, absent, "tombstone"],
  ["ours that is being deleted", { ...ours, isTerminating: true }, absent, "tombstone"],
  ["a hand-made one that is absent", person, absent, "tombstone"],
  ["a hand-made one, absent for long", person, { ...absent, goneForMs: 100 * hourMs }, "tombstone"],
  ["a deletion before the CRD is read", person, after(undefined), "ask"],
  ["a deletion whose CRD cannot be read", person, after({ kind: "failed", error }), "ask"],
  ["a deletion whose CRD may not be read", person, after({ kind: "forbidden", error }), "deleted"],
  ["a deletion under the same CRD", person, after(there("crd-1")), "deleted"],
  ["a deletion under another CRD", person, after(there("crd-2")), "tombstone"],
  ["a deletion under any CRD", person, { ...after(there("crd-2")), definitionUID: undefined }, "deleted"],
  ["a deletion with its CRD", person, after(there("crd-1", true)), "tombstone"],
  ["a deletion when the CRD is gone", person, after({ kind: "gone" }), "tombstone"],
  ["an original generator's deletion", original, after(there("crd-1")), "deleted"],
  [
    "an original generator's deletion with its CRD",
    original,
    { ...after({ kind: "gone" }), goneForMs: hourMs },
    "tombstone",
  ],
  [
    "an original generator's, absent for less than an hour",
    original,
    { ...absent, goneForMs: hourMs - 1 },
    "tombstone",
  ],
  ["an original generator's, absent for an hour", original, { ...absent, goneForMs: hourMs }, "absent-for-long"],
  ["a tombstone before its time is over", ours, { ...absent, goneForMs: 9_999 }, "tombstone", 10_000],
  ["a tombstone whose time is over", ours, { ...absent, goneForMs: 10_000 }, "expired", 10_000],
];

for (const [what, last, evidence, expected, ttlMs = 0] of table) {
  test(`whether it is gone: ${what}, ${expected}`, () => {
    const fate = fateOf(last, evidence, { ttlMs, graceMs: hourMs });
    const word = fate.kind === "gone" ? fate.why : fate.awaitsDefinition ? "ask" : "tombstone";
    assert.equal(word, expected);
  });
}

test("the marks of a last state tell who made it, and how it ended", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const status = { conditions: [{ type: "Dangling", status: "True" }] };
  const generated = { annotations: { [annotations.generated]: "" }, finalizers: [finalizer], deletionTimestamp };
  assert.deepEqual(marksOf({ metadata: generated, status }), { ...ours, isTerminating: true, isDangling: true });
  assert.deepEqual(marksOf({ metadata: { finalizers: [finalizer] } }), original);
  assert.deepEqual(marksOf({ metadata: { labels: { [sourceLabels.kind]: "Deployment" } } }), original);
  const ended = { status: { conditions: [{ type: "Dangling", status: "False" }] } };
  assert.deepEqual(marksOf({ metadata: { annotations: { [annotations.released]: "" } }, ...ended }), {
    ...person,
    isReleased: true,
  });
  for (const raw of [undefined, null, 7, [], { metadata: [] }, { metadata: { annotations: 7, finalizers: {} } }])
    assert.deepEqual(marksOf(raw), person);
});
