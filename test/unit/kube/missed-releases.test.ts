import assert from "node:assert/strict";
import { test } from "node:test";
import { MissedReleases } from "../../../src/kube/missed-releases.ts";
import { type MonotonicMs } from "../../../src/util/clock.ts";

const at = (ms: number): MonotonicMs => ms as MonotonicMs;

function reader() {
  const watch = { error: undefined as string | undefined, isCatchingUp: false, stalenessMs: 0 };
  const missed = new MissedReleases({
    lastError: () => watch.error,
    isCatchingUp: () => watch.isCatchingUp,
    stalenessMs: () => watch.stalenessMs,
  });
  const read = (newest: number, dropped: number, sentAtMs: number): void =>
    missed.read({ newest, dropped }, at(sentAtMs), missed.isCurrent());
  return { watch, missed, read };
}

test("a process that has read the list up to what has left it since has missed nothing", () => {
  const { missed, read } = reader();
  read(7, 0, 100);
  read(5_007, 7, 200);
  assert.equal(missed.mayHaveMissed(at(150)), false);
});

test("what was found absent between two reads may have been released when entries left the list unread", () => {
  const { missed, read } = reader();
  read(7, 0, 100);
  read(5_008, 8, 200);
  assert.deepEqual(
    [100, 101, 200, 201].map((ms) => missed.mayHaveMissed(at(ms))),
    [false, true, true, false],
  );
});

test("a process that reads the list for the first time does not know of any that it has missed", () => {
  const { missed, read } = reader();
  read(5_008, 8, 100);
  assert.equal(missed.mayHaveMissed(at(50)), false);
});

for (const [what, broken] of [
  ["has failed", { error: "503" }],
  ["catches up", { isCatchingUp: true }],
  ["has been silent for two minutes", { stalenessMs: 120_000 }],
] as const) {
  test(`what is read while the watch ${what} is not known to be seen`, () => {
    const { missed, watch, read } = reader();
    read(7, 0, 100);
    Object.assign(watch, broken);
    read(5_000, 0, 150);
    Object.assign(watch, { error: undefined, isCatchingUp: false, stalenessMs: 0 });
    read(10_000, 5_000, 200);
    assert.equal(missed.mayHaveMissed(at(180)), true);
  });
}

test("a list that a person deletes, or that a restore brings back, counts as complete", () => {
  const { missed, read } = reader();
  read(6_000, 1_000, 100);
  read(0, 0, 200);
  read(40, 0, 300);
  assert.equal(missed.mayHaveMissed(at(250)), false);
});
