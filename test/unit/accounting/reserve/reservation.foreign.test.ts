import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { reserve, type ReservationContext } from "../../../../src/accounting/reserve/reservation.ts";
import { cell, context, counts, disruption, lostUpTo, protector, version } from "../samples.ts";

const byJob = { as: { controllerKind: "Job.batch" } };
const leavesOut = cell(counts(4, { countedOwners: ["Job.batch"] }));

/** The verdict on the deletion of a Job's pod, beside a floor of 4 of which 4 are counted. */
function verdictOn(
  changes: Parameters<typeof disruption>[1] = {},
  { cells = [leavesOut], foreignOwners = ["Job.batch"], ...more }: Partial<Input> = {},
) {
  const object = protector(4, cells);
  const asked = { ...object, spec: { ...object.spec, foreignOwners } };
  const { verdicts, status } = reserve(asked, [disruption("x", { ...byJob, ...changes })], context(more));
  return { kind: verdicts[0]?.kind, isRecorded: status !== undefined };
}
interface Input extends Partial<ReservationContext> {
  readonly cells: readonly CellStatus[];
  readonly foreignOwners: readonly string[];
}

const free = { kind: "admitted", isRecorded: false };
const refused = { kind: "rejected", isRecorded: false };

test("where the counts leave out its kind, a foreign pod goes at the floor, and takes nothing", () => {
  assert.deepEqual(verdictOn(), free);
  assert.deepEqual(verdictOn({ operation: "evict" }), free);
  assert.deepEqual(verdictOn({ isForced: true }), free);
});

test("where they do not say so, it is protected as ever: a Go component, an earlier release, a CRD that prunes", () => {
  assert.deepEqual(verdictOn({}, { cells: [cell(counts(4))] }), refused);
  const elsewhere = [cell(counts(4)), { ...leavesOut, cellID: "b" }];
  assert.deepEqual(verdictOn({}, { cells: elsewhere }), { ...free, isRecorded: true }, "judged by its own cell");
});

test("where the spec does not name its kind any more, it is protected, although it is not counted yet", () => {
  assert.deepEqual(verdictOn({}, { foreignOwners: [] }), refused);
});

test("by a state that may be old, or counts that are not in force, it is protected", () => {
  assert.deepEqual(verdictOn({}, { isOld: true }), refused);
  assert.equal(verdictOn({}, lostUpTo(version(100))).kind, "counts-pending");
});

test("in a silent cell it goes: nothing is counted on there", () => {
  assert.deepEqual(verdictOn({}, { silentForMs: () => 1_000 }), free);
});

test("a pod that nobody controls, or of another kind, is protected", () => {
  assert.deepEqual(verdictOn({ as: {} }), refused);
  assert.deepEqual(verdictOn({ as: { controllerKind: "Job.batch.volcano.sh" } }), refused);
});
