import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Disruption } from "../../../../src/accounting/reserve/disruption.ts";
import { reserve, type ReservationContext } from "../../../../src/accounting/reserve/reservation.ts";
import { cell, context, counts, disruption, notReady, protector, single, version } from "../samples.ts";

const seen = 3;

/** The verdict on the deletion of a pod that is unseen at version 10, where 3 pods are seen at version 100. */
function verdictOn(
  minAvailable: number,
  changes: Parameters<typeof disruption>[1] = {},
  { cells = [cell(counts(seen))], ...more }: { cells?: readonly CellStatus[] } & Partial<ReservationContext> = {},
) {
  const unseen: Disruption = disruption("x", { ...changes, as: { ...notReady, isUnseen: true, ...changes.as } });
  const { verdicts, status } = reserve(protector(minAvailable, cells), [unseen], context(more));
  const [verdict] = verdicts;
  assert.ok(verdict !== undefined);
  return { verdict, isRecorded: status !== undefined };
}

const admitted = (need: "nothing" | "record" | "quota", isRecorded: boolean) => ({
  verdict: { kind: "admitted", need, isRecorded, isRepeated: false },
  isRecorded,
});

test("where the pods that are seen reach the floor, a DELETE of an unseen one takes nothing", () => {
  assert.deepEqual(verdictOn(seen), admitted("nothing", false));
  assert.deepEqual(verdictOn(0), admitted("nothing", false));
});

test("where they do not, it is refused, and the verdict says why", () => {
  const { verdict, isRecorded } = verdictOn(seen + 1);
  assert.ok(verdict.kind === "rejected");
  assert.deepEqual([verdict.isUnseen, isRecorded], [true, false]);
});

test("what is promised of the seen ones is not there", () => {
  const cells = [cell(counts(seen), [single("y", 50)])];
  assert.equal(verdictOn(seen, {}, { cells }).verdict.kind, "rejected");
  assert.deepEqual(verdictOn(seen - 1, {}, { cells }), admitted("nothing", false));
});

test("an eviction of an unseen pod is bound to no version, so it goes only with a record", () => {
  assert.deepEqual(verdictOn(seen, { operation: "evict" }), admitted("record", true));
  assert.equal(verdictOn(seen + 1, { operation: "evict" }).verdict.kind, "rejected");
});

test("counts that are older than the pod may hold it, so it takes quota as any other", () => {
  const later = { as: { resourceVersion: version(101) } };
  assert.deepEqual(verdictOn(seen - 1, later), admitted("quota", true));
  assert.equal(verdictOn(seen, later).verdict.kind, "rejected");
  const byGo = { cells: [cell(counts(seen, { resourceVersion: undefined as never }))] };
  assert.equal(verdictOn(seen, {}, byGo).verdict.kind, "rejected", "a Go aggregator names no version");
});

test("a status that may be old proves nothing without a write on it", () => {
  assert.equal(verdictOn(seen, {}, { isOld: true }).verdict.kind, "rejected");
  assert.deepEqual(verdictOn(seen - 1, {}, { isOld: true }), admitted("quota", true));
});

test("what a silent cell has counted is not seen, and without counts in force nobody knows", () => {
  const { verdict } = verdictOn(1, {}, { silentForMs: () => 200_000 });
  assert.ok(verdict.kind === "rejected");
  assert.deepEqual([verdict.isUnseen, verdict.missed], [true, ["a"]]);
  const others = [cell(counts(0)), cell(counts(seen), [], "b")];
  const silentForMs = (cellID: string) => (cellID === "a" ? 200_000 : undefined);
  assert.deepEqual(verdictOn(seen, {}, { cells: others, silentForMs }), admitted("nothing", false));
  const edited = { cells: [cell(counts(seen, { countedSpec: "other" }))] };
  assert.equal(verdictOn(1, {}, edited).verdict.kind, "counts-pending");
});

test("who repairs dead nodes, a person's force, and criteria that do not depend on the kubelet go as ever", () => {
  assert.deepEqual(verdictOn(seen + 1, { isRepair: true }), admitted("nothing", false));
  assert.deepEqual(verdictOn(seen + 1, { isForced: true }), admitted("nothing", false));
  assert.deepEqual(verdictOn(seen + 1, { isProtected: false }), admitted("nothing", false));
  assert.equal(verdictOn(seen, { criterion: "Ready" }).verdict.kind, "admitted");
  assert.equal(verdictOn(seen + 1, { criterion: "Ready" }).verdict.kind, "rejected");
  assert.deepEqual(verdictOn(seen - 1, { criterion: "Running" }), admitted("quota", true));
});

test("a pod that terminates or has finished is not unseen", () => {
  assert.deepEqual(verdictOn(seen + 1, { as: { isTerminating: true } }), admitted("nothing", false));
  assert.deepEqual(verdictOn(seen + 1, { as: { isTerminal: true } }), admitted("nothing", false));
});
