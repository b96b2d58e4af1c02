import assert from "node:assert/strict";
import { test } from "node:test";
import { type MicroTime } from "../../../../src/api/micro-time.ts";
import { type CountedAges, needOf } from "../../../../src/accounting/reserve/disruption.ts";
import { healthCriteria } from "../../../../src/accounting/count/health-criterion.ts";
import { at, disruption, notReady, timeText } from "../samples.ts";

const now = at(20);
const need = (
  changes: Parameters<typeof disruption>[1],
  minReadySeconds = 30,
  countedAt: MicroTime = timeText(15),
  others: CountedAges = {},
): string => needOf(disruption("x", changes), { minAvailable: 2, minReadySeconds }, { countedAt, ...others }, now);
const since = (seconds: number): { as: { readySince: typeof now } } => ({ as: { readySince: at(seconds) } });

test("a pod that meets its criterion needs quota, for DELETE and eviction", () => {
  for (const operation of ["delete", "evict"] as const) assert.equal(need({ operation }), "quota");
});

test("a terminating pod needs nothing, not even a record", () => {
  for (const operation of ["delete", "evict"] as const) {
    assert.equal(need({ operation, isForced: true, as: { isTerminating: true } }), "nothing");
  }
});

test("a pod that has finished needs nothing, not even a record: it cannot recover", () => {
  for (const operation of ["delete", "evict"] as const) {
    for (const isForced of [true, false])
      assert.equal(need({ operation, isForced, as: { ...notReady, isTerminal: true } }), "nothing");
  }
});

test("without a floor, what would need a record or quota is recorded if possible; what needs nothing is not", () => {
  for (const minAvailable of [0, -1]) {
    const spec = { minAvailable, minReadySeconds: 30 };
    const needed = (changes: Parameters<typeof disruption>[1]) =>
      needOf(disruption("x", changes), spec, { countedAt: timeText(15) }, now);
    assert.equal(needed({}), "record-best-effort");
    assert.equal(needed({ operation: "evict" }), "record-best-effort");
    assert.equal(needed({ operation: "evict", as: notReady }), "record-best-effort");
    assert.equal(needed(since(19)), "record-best-effort");
    assert.equal(needed({ as: notReady }), "nothing");
  }
});

test("a pod that only a new version could make count is deleted without a record", () => {
  assert.equal(need({ as: notReady }), "nothing");
  assert.equal(need({ as: notReady, isForced: true }), "nothing");
  assert.equal(need({ as: { isTerminal: true } }), "nothing");
});

test("a pod that only a new version could make count is evicted with a record: evictions have no version", () => {
  assert.equal(need({ operation: "evict", as: notReady }), "record");
  assert.equal(need({ operation: "evict", as: notReady, isForced: true }), "record-best-effort");
  assert.equal(need({ operation: "evict", as: notReady, isProtected: false }), "record-best-effort");
});

test("forced and unprotected deletions of live pods are recorded if possible", () => {
  assert.equal(need({ isForced: true }), "record-best-effort");
  assert.equal(need({ isProtected: false }), "record-best-effort");
});

test("a pod is too young by the data and by our clock, strictly", () => {
  assert.equal(need(since(-9.999999)), "record");
  assert.equal(need(since(-10)), "quota");
});

test("a pod that the counting clock or our own finds old enough is not too young", () => {
  assert.equal(need(since(0), 30, timeText(30)), "quota");
  assert.equal(need(since(0), 30, timeText(29.999999)), "record");
  assert.equal(need(since(-15), 30, timeText(1)), "quota");
});

test("no pod is too young by a Ready time that is further ahead than clocks are, or by none", () => {
  assert.equal(need(since(25)), "record");
  assert.equal(need(since(25.000001)), "quota");
  assert.equal(need(since(8 * 3600)), "quota");
  assert.equal(need({ as: { readySince: undefined } }), "quota");
  const spec = { minAvailable: 2, minReadySeconds: 30 };
  assert.equal(needOf(disruption("x", since(300)), spec, undefined, now), "quota");
});

test("a pod whose Ready time may be that of one which is counted is not too young, strictly", () => {
  const counted = (countedAhead: number) => need(since(19), 30, timeText(15), { countedAhead: timeText(countedAhead) });
  assert.equal(counted(49), "quota");
  assert.equal(counted(48.999999), "record");
  assert.equal(counted(28_800), "quota");
});

test("a pod is too young by our clock alone when a Go aggregator counted", () => {
  const spec = { minAvailable: 2, minReadySeconds: 30 };
  assert.equal(needOf(disruption("x", since(0)), spec, undefined, now), "record");
  assert.equal(needOf(disruption("x", since(-15)), spec, undefined, now), "quota");
});

test("no pod is too young by another criterion than Available, or without minReadySeconds", () => {
  assert.equal(need({ ...since(19), criterion: "Ready" }), "quota");
  assert.equal(need(since(1000), 0), "quota");
});

test("a stricter criterion protects pods that are not Ready", () => {
  for (const criterion of healthCriteria) {
    const isMet = criterion !== "Ready" && criterion !== "Available";
    assert.equal(need({ criterion, as: notReady }), isMet ? "quota" : "nothing");
  }
});
