/** Cells that are silent (docs/accounting.md#silent-cells). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Disruption } from "../../../../src/accounting/reserve/disruption.ts";
import { reserve, type Reservation, type ReservationContext } from "../../../../src/accounting/reserve/reservation.ts";
import { anonymous, at, cell, context, counts, disruption, notReady, protector, single } from "../samples.ts";

const silentFor =
  (ages: Readonly<Record<string, number>>): ReservationContext["silentForMs"] =>
  (cellID) =>
    ages[cellID];

interface World {
  readonly minAvailable?: number;
  readonly cells: readonly CellStatus[];
  readonly wishes: readonly Disruption[];
  /** Of the cell a. */
  readonly silentForMs?: number;
}
const run = ({ minAvailable = 2, cells, wishes, silentForMs = 240_000 }: World): Reservation =>
  reserve(protector(minAvailable, cells, 30), wishes, context({ silentForMs: silentFor({ a: silentForMs }) }));
const kinds = ({ verdicts }: Reservation): string[] =>
  verdicts.map((verdict) => (verdict.kind === "retry" ? verdict.cause : verdict.kind));

test("the pods of a silent cell are not available: the others are refused at the floor", () => {
  const cells = [cell(counts(2), [], "a"), cell(counts(3), [], "b")];
  const wishes = ["x", "y"].map((uid) => disruption(uid, { cellID: "b" }));
  assert.deepEqual(kinds(run({ cells, wishes })), ["admitted", "unconfirmed"]);
  const heard = reserve(protector(2, cells, 30), wishes, context());
  assert.deepEqual(kinds(heard), ["admitted", "admitted"]);
});

test("what a silent cell has promised is left out with its pods, and its buckets stay", () => {
  const buckets = [single("gone"), anonymous(7)];
  const cells = [cell(counts(2), buckets, "a"), cell(counts(3), [], "b")];
  const result = run({ cells, wishes: [disruption("x", { cellID: "b" })] });
  assert.deepEqual(kinds(result), ["admitted"], "the cell contributes 0, not 2 - 8");
  assert.deepEqual(result.status?.cells[0], cells[0]);
  assert.equal(result.status?.summary.aggregatedAvailableReplicas, 5, "the summary adds up what is recorded");
});

test("a deletion that needs quota is refused in a silent cell, however many pods the others have", () => {
  const cells = [cell(counts(2), [], "a"), cell(counts(50), [], "b")];
  const result = run({ cells, wishes: [disruption("x"), disruption("y", { operation: "evict" })] });
  assert.deepEqual(kinds(result), ["cell-silent", "cell-silent"]);
  const [verdict] = result.verdicts;
  assert.ok(verdict?.kind === "cell-silent");
  assert.equal(verdict.silentForMs, 240_000);
  assert.deepEqual(verdict.figures, {
    criterion: "Available",
    required: 2,
    aggregated: 50,
    total: undefined,
    unconfirmed: 0,
    outstanding: 0,
    cells: [
      { cellID: "a", counts: "in-force", silentForMs: 240_000, aggregated: 0, last: 2, unconfirmed: 0 },
      { cellID: "b", counts: "in-force", aggregated: 50, last: 50, unconfirmed: 0 },
    ],
  });
});

test("what needs no quota is recorded in a silent cell as everywhere", () => {
  const cells = [cell(counts(2), [], "a"), cell(counts(50), [], "b")];
  const young = disruption("young", { as: { readySince: at(9) } });
  const unready = disruption("unready", { operation: "evict", as: notReady });
  const result = run({
    cells,
    wishes: [young, unready, disruption("forced", { isForced: true }), disruption("other", { isProtected: false })],
  });
  assert.deepEqual(kinds(result), ["admitted", "admitted", "admitted", "admitted"]);
  const uids = result.status?.cells[0]?.admissionHistory?.buckets?.map(({ podUID }) => podUID);
  assert.deepEqual(uids, ["young", "unready", "forced", "other"]);
});

test("in a cell that is being retired nothing is recorded: what needs a record is refused, the rest passes", () => {
  const cells = [cell(counts(2), [single("before")], "a"), cell(counts(50), [], "b")];
  const young = disruption("young", { as: { readySince: at(9) } });
  const unready = disruption("unready", { operation: "evict", as: notReady });
  const others = [disruption("forced", { isForced: true }), disruption("other", { isProtected: false })];
  const shadow = disruption("shadow", { isShadow: true });
  const wishes = [disruption("quota"), young, unready, ...others, shadow, disruption("b", { cellID: "b" })];
  const isRetiring = (cellID: string): boolean => cellID === "a";
  const { verdicts, status } = reserve(protector(2, cells, 30), wishes, context({ isRetiring }));
  assert.deepEqual(
    verdicts.map((verdict) => (verdict.kind === "admitted" ? (verdict.leftOut ?? "recorded") : verdict.kind)),
    ["cell-silent", "cell-silent", "cell-silent", "retiring-cell", "retiring-cell", "retiring-cell", "recorded"],
  );
  const [refused] = verdicts;
  assert.ok(refused?.kind === "cell-silent" && refused.isRetiring === true && refused.silentForMs === 0);
  assert.deepEqual(status?.cells[0], cells[0], "its entry stands unchanged");
});

test("a pod that the silent cell may have counted is not too young by the clock of the webhook alone", () => {
  const cells = [cell(counts(2, { countedAt: "2026-01-01T00:01:00.000000Z" as never }), [], "a")];
  const young = disruption("young", { as: { readySince: at(9) } });
  assert.deepEqual(kinds(run({ minAvailable: 1, cells, wishes: [young] })), ["cell-silent"]);
});

test("a PodProtector without a floor refuses nothing in a silent cell", () => {
  const cells = [cell(counts(2), [], "a")];
  assert.deepEqual(kinds(run({ minAvailable: 0, cells, wishes: [disruption("x")] })), ["admitted"]);
});

test("a cell without counts, or with those of another spec, is silent first and uncounted second", () => {
  const otherSpec = [cell(counts(2, { countedSpec: "former" }), [], "a"), cell(counts(1), [], "b")];
  assert.deepEqual(kinds(run({ cells: otherSpec, wishes: [disruption("x")] })), ["cell-silent"]);
  assert.deepEqual(kinds(run({ cells: [], wishes: [disruption("x")] })), ["counts-pending"]);
  // Its counts will not come, so nobody is told to wait for them.
  const [verdict] = run({ cells: otherSpec, wishes: [disruption("y", { cellID: "b" })] }).verdicts;
  assert.ok(verdict?.kind === "rejected");
  assert.deepEqual(verdict.missed, ["a"]);
});

test("a refusal names silent cells with whose last counts, less what they promised, there would be room", () => {
  const missedOf = (available: number, promised: number): readonly string[] | undefined => {
    const cells = [cell(counts(available), promised === 0 ? [] : [anonymous(promised)], "a"), cell(counts(2), [], "b")];
    const [verdict] = run({ cells, wishes: [disruption("x", { cellID: "b" })] }).verdicts;
    assert.ok(verdict?.kind === "rejected");
    return verdict.missed;
  };
  assert.deepEqual(missedOf(1, 0), ["a"]);
  assert.equal(missedOf(0, 0), undefined);
  assert.equal(missedOf(1, 1), undefined);
  assert.deepEqual(missedOf(3, 2), ["a"]);

  const promised = [cell(counts(1), [], "a"), cell(counts(3), [single("q")], "b")];
  const [verdict] = run({ cells: promised, wishes: [disruption("x", { cellID: "b" })] }).verdicts;
  assert.ok(verdict?.kind === "retry");
  assert.deepEqual(verdict.missed, ["a"]);
});
