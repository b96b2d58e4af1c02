import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellFigures, type QuotaFigures } from "../../../../src/accounting/reserve/quota-figures.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type ProtectorEvent, type Refusals } from "../../../../src/commands/fleet/refusals.ts";
import { cellsText, refusedText, sinceText, toneOf } from "../../../../src/commands/fleet/wording.ts";
import { type State } from "../../../../src/commands/fleet/standing.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const cell = (cellID: string, changes: Partial<CellFigures> = {}): CellFigures => ({
  cellID,
  counts: "in-force",
  aggregated: 7,
  last: 7,
  unconfirmed: 0,
  ...changes,
});

const textOf = (...cells: readonly CellFigures[]): string =>
  cellsText({ figures: { cells } as unknown as QuotaFigures });

test("each cell is told with what it has counted and promised, and why that is not in force", () => {
  assert.equal(textOf(), "none");
  assert.equal(textOf(cell("w1"), cell("w2", { unconfirmed: 2 })), "w1 7, w2 7 - 2");
  assert.equal(textOf(cell("w1", { silentForMs: 242_000, aggregated: 0 })), "w1 silent 4 m 02 s (7)");
  assert.equal(textOf(cell("w1", { counts: "none", last: 0, unconfirmed: 1 })), "w1 not counted - 1");
  assert.equal(textOf(cell("w1", { counts: "other-spec", aggregated: 0 })), "w1 not counted again (7)");
  const many = Array.from({ length: 10 }, (_, index) => cell(`w${index}`));
  assert.match(textOf(...many), /, w7 7 and 2 more$/);
});

test("what is wrong is red", () => {
  assert.deepEqual([toneOf("below floor"), toneOf("at floor"), toneOf("ok")], ["bad", "warning", "good"]);
});

test("a state is told with its age and the reason, while its condition holds", () => {
  const at = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;
  const of = (state: State, type: string, status: string, lastTransitionTime: string): string | undefined => {
    const conditions = [{ type, status, lastTransitionTime, reason: "x", message: "It is so" }];
    return sinceText({ protector: { status: { conditions } } as unknown as PodProtector }, state, at);
  };
  assert.equal(of("dangling", "Dangling", "True", "2025-12-31T23:56:00Z"), "dangling for 4 m 00 s: It is so");
  assert.equal(of("at floor", "AtFloor", "True", "2025-12-31T23:56:00Z"), "at floor for 4 m 00 s");
  assert.equal(of("at floor", "Dangling", "True", "2025-12-31T23:56:00Z"), undefined);
  assert.equal(of("at floor", "AtFloor", "False", "2025-12-31T23:56:00Z"), undefined);
  assert.equal(of("at floor", "AtFloor", "True", "yesterday"), undefined);
  assert.equal(of("ok", "AtFloor", "True", "2025-12-31T23:56:00Z"), undefined);
});

const refusal = (count: number, secondsAgo: number | undefined): ProtectorEvent => ({
  protector: objectKey("shop", "web"),
  uid: "uid",
  reason: "TooFewReplicas",
  message: "",
  count,
  lastAt: secondsAgo === undefined ? undefined : (((3_600 - secondsAgo) * 1_000_000) as EpochMicros),
  component: "podseidon-webhook",
});
const refusedOf = (events: readonly ProtectorEvent[], callers: Refusals["callers"] = []): string =>
  refusedText({ events, callers } as unknown as Refusals, 3_600_000_000 as EpochMicros);

test("refusals are told with their number, the last one, and those who asked most", () => {
  const callers = ["a", "b", "c", "d"].map((name, index) => ({ name, count: 9 - index }));
  assert.equal(
    refusedOf([refusal(20, 12), refusal(10, 300)], callers),
    "30 times lately, last 12 s ago, by a 9, b 8, c 7 and 1 more",
  );
  assert.equal(refusedOf([refusal(1, undefined)]), "1 time lately");
});

test("refusals of more than ten minutes ago stand apart, so that they are not taken for the present trouble", () => {
  assert.equal(
    refusedOf([refusal(11, 12), refusal(2, 900), refusal(238, 1_930)]),
    "11 times lately, last 12 s ago; before that 240 times, last 15 m 00 s ago",
  );
  assert.equal(
    refusedOf([refusal(240, 1_930)], [{ name: "runaway", count: 240 }]),
    "not lately, but 240 times, last 32 m 10 s ago, by runaway 240",
  );
  assert.equal(refusedOf([refusal(1, 600)]), "1 time lately, last 10 m 00 s ago");
});
