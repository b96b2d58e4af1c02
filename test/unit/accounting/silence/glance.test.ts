import assert from "node:assert/strict";
import { test } from "node:test";
import { packDigests, digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { glanceAt, silentFor, unwrittenForMs } from "../../../../src/accounting/silence/glance.ts";
import { Contact } from "../../../../src/accounting/silence/contact.ts";
import { CellSilence } from "../../../../src/accounting/silence/cell-silence.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { type CellLease, witnessLeaseName } from "../../../../src/api/cell-lease.ts";
import { type EpochMicros, type MonotonicMs } from "../../../../src/util/clock.ts";
import { lease, timeOf } from "./lease-lists.ts";

const now = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;

const glance = (changes: Partial<CellLease>) => glanceAt(lease("w1", "1", changes), now);

test("a cell is silent when its Lease was not renewed for its duration and one look of an observer more", () => {
  const heard = glance({ renewedAt: timeOf(-194), durationSeconds: 180 });
  assert.deepEqual([heard.heardAgoMs, heard.silentForMs], [194_000, undefined]);
  assert.equal(glance({ renewedAt: timeOf(-195), durationSeconds: 180 }).silentForMs, 195_000);
  assert.equal(glance({ renewedAt: timeOf(-33), durationSeconds: 30 }).silentForMs, 33_000);
  // An aggregator that writes no duration has the default.
  assert.equal(glance({ renewedAt: timeOf(-194) }).silentForMs, undefined);
  assert.equal(glance({ renewedAt: timeOf(-196) }).silentForMs, 196_000);
});

test("a glance is never sure of a silence before an observer can be, and says while some may not be yet", () => {
  // An observer that has just missed the beat sees it a look later, and misses the next one up to two looks later.
  const times = silenceTimes(180_000);
  const contact = new Contact(times, 0 as MonotonicMs);
  const silence = new CellSilence(times, "zero", contact, 0 as MonotonicMs);
  let foundAtMs: number | undefined;
  for (let at = 0; at <= 300_000 && foundAtMs === undefined; at += times.observeMs) {
    const seen = lease("w1", at === 0 ? "0" : "1");
    const list = { sentAt: at as MonotonicMs, answeredAt: (at + 50) as MonotonicMs, now, leases: [seen] };
    contact.listed(list);
    contact.wrote();
    for (const { after } of silence.listed(list)) if (after.kind === "silent") foundAtMs = at;
  }
  assert.ok(foundAtMs !== undefined);
  // The beat was right after the first look.
  const atFound = glance({ renewedAt: timeOf(-foundAtMs / 1000) });
  assert.deepEqual([atFound.silentForMs, atFound.isTurning], [foundAtMs, true]);
  assert.equal(glance({ renewedAt: timeOf(-180) }).isTurning, true);
  assert.equal(glance({ renewedAt: timeOf(-179) }).isTurning, false);
  assert.equal(glance({ renewedAt: timeOf(-225) }).isTurning, false);
});

test("a cell that the generator has marked is silent since the mark, whatever the clocks say", () => {
  const marked = glance({ renewedAt: timeOf(-10), silentSince: timeOf(-400) });
  assert.deepEqual([marked.heardAgoMs, marked.silentForMs], [10_000, 400_000]);
});

test("times that are ahead of the clock are now, and a Lease without a time tells nothing", () => {
  assert.equal(glance({ renewedAt: timeOf(60) }).heardAgoMs, 0);
  assert.deepEqual([glance({}).heardAgoMs, glance({}).silentForMs], [undefined, undefined]);
});

test("the counts of a silent cell are in force while somebody keeps it, and of no Lease always", () => {
  const silent = { renewedAt: timeOf(-400) };
  assert.equal(silentFor(glance(silent), "uid"), 400_000);
  assert.equal(silentFor(glance({ ...silent, keepUntil: timeOf(1) }), "uid"), undefined);
  assert.equal(silentFor(glance({ ...silent, keepUntil: timeOf(-1) }), "uid"), 400_000);
  assert.equal(silentFor(undefined, "uid"), undefined);
});

test("a cell that is behind on a PodProtector is silent for that one only", () => {
  const behind = glance({ renewedAt: timeOf(-5), behind: packDigests([digestOfUID("late")]) });
  assert.equal(silentFor(behind, "late"), 5_000);
  assert.equal(silentFor(behind, "other"), undefined);
  assert.equal(silentFor(glance({ renewedAt: timeOf(-5), behind: "no digests" }), "late"), undefined);
});

test("a cell is late when it should have been heard by now, until it is silent", () => {
  assert.equal(glance({ renewedAt: timeOf(-45) }).lateForMs, undefined);
  assert.equal(glance({ renewedAt: timeOf(-46) }).lateForMs, 46_000);
  assert.equal(glance({ renewedAt: timeOf(-400) }).lateForMs, undefined);
  assert.equal(glance({}).lateForMs, undefined);
});

test("nobody is heard when the newest beat of all is as old as makes a cell silent, and observers are there", () => {
  const cell = (seconds: number, durationSeconds?: number) =>
    lease("w1", "1", { renewedAt: timeOf(-seconds), durationSeconds });
  const witness = (seconds: number) => lease(undefined, "1", { name: witnessLeaseName, renewedAt: timeOf(-seconds) });
  assert.equal(unwrittenForMs([], now), undefined);
  assert.equal(unwrittenForMs([cell(600)], now), undefined, "without observers nobody has made sure of it");
  assert.equal(unwrittenForMs([lease(undefined, "1", { name: witnessLeaseName })], now), undefined);
  assert.equal(unwrittenForMs([cell(600), witness(180)], now), undefined);
  assert.equal(unwrittenForMs([cell(600), witness(181)], now), 181_000);
  assert.equal(unwrittenForMs([cell(600), witness(600), cell(-40)], now), undefined, "a clock that is a little ahead");
  assert.equal(unwrittenForMs([cell(600), witness(600), cell(-60)], now), 600_000, "one that is wrong tells nothing");
  assert.equal(unwrittenForMs([cell(20, 12), cell(20, 3_600), witness(13)], now), 13_000, "the shortest patience");
});

test("for as long as nobody could be heard a cell falls neither silent nor behind its time", () => {
  const at = (seconds: number) => glanceAt(lease("w1", "1", { renewedAt: timeOf(-seconds) }), now, 300_000);
  assert.deepEqual([at(310).heardAgoMs, at(310).lateForMs, at(310).silentForMs], [310_000, undefined, undefined]);
  assert.equal(at(350).lateForMs, 350_000);
  assert.equal(at(500).silentForMs, 500_000, "before that it was silent already");
});
