import assert from "node:assert/strict";
import { test } from "node:test";
import { packDigests, digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { glanceAt, silentFor } from "../../../../src/accounting/silence/glance.ts";
import { type CellLease } from "../../../../src/api/cell-lease.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { lease, timeOf } from "./lease-lists.ts";

const now = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;

const glance = (changes: Partial<CellLease>) => glanceAt(lease("w1", "1", changes), now);

test("a cell is silent when its Lease was not renewed for its duration", () => {
  const heard = glance({ renewedAt: timeOf(-179), durationSeconds: 180 });
  assert.deepEqual([heard.heardAgoMs, heard.silentForMs], [179_000, undefined]);
  assert.equal(glance({ renewedAt: timeOf(-180), durationSeconds: 180 }).silentForMs, 180_000);
  assert.equal(glance({ renewedAt: timeOf(-30), durationSeconds: 30 }).silentForMs, 30_000);
  // An aggregator that writes no duration has the default.
  assert.equal(glance({ renewedAt: timeOf(-179) }).silentForMs, undefined);
  assert.equal(glance({ renewedAt: timeOf(-181) }).silentForMs, 181_000);
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
