import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { fullestOf, isFull, record } from "../../../../src/accounting/history/record.ts";
import { anonymous, at, disruption, evicted, packed, single, timeText, version } from "../samples.ts";

const context = { now: at(10), requiresPodName: (): boolean => false };
const deletionOf = (uid: string, podVersion = 20): ReturnType<typeof disruption> =>
  disruption(uid, { as: { resourceVersion: version(podVersion) } });
const evictionOf = (uid: string): ReturnType<typeof disruption> => ({ ...deletionOf(uid), operation: "evict" });
const ofX = (buckets: readonly Bucket[]): Bucket | undefined => buckets.find(({ podUID }) => podUID === "x");

test("a DELETE is recorded with UID, time and version, an eviction without version", () => {
  const single = { startTime: timeText(10), podUID: "x", podResourceVersion: "20" };
  assert.deepEqual(record([], deletionOf("x"), context), {
    buckets: [single],
    single,
    isRepeated: false,
    isTakenOut: false,
  });
  assert.deepEqual(record([], evictionOf("x"), context).buckets, [{ startTime: timeText(10), podUID: "x" }]);
});

test("the pod name is recorded for the cells that are configured so", () => {
  const { buckets } = record([], deletionOf("x"), { ...context, requiresPodName: (cellID) => cellID === "a" });
  assert.equal(buckets[0]?.podName, "x");
});

test("a repeated review refreshes the start time and raises the version, never lowers it", () => {
  const raised = record([single("x", 10), single("y", 1)], deletionOf("x", 20), context);
  assert.deepEqual(raised.buckets, [single("y", 1), { ...single("x", 20), startTime: timeText(10) }]);
  assert.equal(raised.isRepeated, true);
  assert.equal(ofX(record([single("x", 30)], deletionOf("x", 20), context).buckets)?.podResourceVersion, "30");
});

test("a repeated review is visible even when the clock stands still", () => {
  const { buckets } = record([single("x", 20, 10)], deletionOf("x", 20), context);
  assert.equal(buckets[0]?.startTime, timeText(10.000001));
});

test("a repeated review never gives a version to a bucket without one", () => {
  assert.equal(ofX(record([single("x")], deletionOf("x"), context).buckets)?.podResourceVersion, undefined);
});

test("an eviction of a recorded pod removes the version", () => {
  assert.deepEqual(record([single("x", 10)], evictionOf("x"), context).buckets, [
    { startTime: timeText(10), podUID: "x" },
  ]);
});

test("of several requests for a pod the one that is tied the least counts, with the highest version", () => {
  const named = (podVersion: number): ReturnType<typeof disruption> => ({
    ...evictionOf("x"),
    namesVersion: true,
    pod: deletionOf("x", podVersion).pod,
  });
  const one = { startTime: timeText(10), podUID: "x" };
  const at = (podVersion: string): Bucket => ({ ...one, evictionResourceVersion: version(podVersion) });
  for (const [bucket, deletion, becomes] of [
    [undefined, named(20), at("20")],
    [single("x", 30), named(20), at("30")],
    [single("x", 10), named(20), at("20")],
    [evicted("x", 10), deletionOf("x", 20), at("20")],
    [evicted("x", 30), deletionOf("x", 20), at("30")],
    [evicted("x", 10), named(20), at("20")],
    [evicted("x", 10), evictionOf("x"), one],
    [single("x"), named(20), one],
    [packed(["x"], 30), named(20), at("30")],
  ] as const) {
    const result = record(bucket === undefined ? [] : [bucket], deletion, context);
    assert.deepEqual(result.buckets, [becomes], JSON.stringify([bucket, deletion.operation]));
    assert.equal(result.isRepeated, bucket !== undefined);
  }
});

test("an eviction that names a version counts as an eviction where a history may be full", () => {
  const limits = { deletesMax: 3, evictionsMax: 2 };
  const buckets = [evicted("a", 1), evicted("b", 1)];
  assert.equal(isFull(buckets, { ...evictionOf("x"), namesVersion: true }, limits), true);
  assert.equal(isFull(buckets, deletionOf("x"), limits), false);
});

test("a repeated review takes a packed pod out, with a version not below its bucket's", () => {
  const result = record([packed(["x", "y"], 30)], deletionOf("x", 20), context);
  assert.equal(result.isTakenOut && result.isRepeated, true);
  assert.deepEqual(result.buckets, [packed(["y"], 30), { ...single("x", 30), startTime: timeText(10) }]);
  assert.deepEqual(record([packed(["x"], 3)], deletionOf("x", 20), context).buckets.length, 1);
});

test("an eviction takes a packed pod out without a version", () => {
  const { buckets } = record([packed(["x", "y"], 30)], evictionOf("x"), context);
  assert.deepEqual(buckets, [packed(["y"], 30), { startTime: timeText(10), podUID: "x" }]);
});

test("what names no pod, or another one, is left alone", () => {
  const others = [anonymous(3), single("y"), { startTime: "" as const }];
  assert.deepEqual(record(others, deletionOf("x"), context).buckets.slice(0, 3), others);
});

describe("a full history", () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `p${index}`);
  test("a history holds 2,000 DELETEs, packed and single together", () => {
    assert.equal(isFull([packed(names(1990), 1), ...names(9).map((name) => single(name, 1))], deletionOf("x")), false);
    assert.equal(isFull([packed(names(1990), 1), ...names(10).map((name) => single(name, 1))], deletionOf("x")), true);
  });

  test("a history holds 700 buckets without a version, counted separately", () => {
    const evictions = names(700).map((name) => single(name));
    assert.equal(isFull(evictions, evictionOf("x")), true);
    assert.equal(isFull(evictions, deletionOf("x")), false);
    assert.equal(isFull(evictions.slice(1), evictionOf("x")), false);
  });

  test("evictions of pods whose deletion was admitted make room for deletions only up to both limits together", () => {
    const limits = { deletesMax: 3, evictionsMax: 1 };
    const converted = names(3).map((name) => single(name));
    assert.equal(isFull(converted, deletionOf("x"), limits), false);
    assert.equal(isFull([...converted, single("y", 1)], deletionOf("x"), limits), true);
  });

  test("a history has the limits that it is given", () => {
    const limits = { deletesMax: 3, evictionsMax: 1 };
    assert.equal(isFull([packed(["p", "q"], 1)], deletionOf("x"), limits), false);
    assert.equal(isFull([packed(["p", "q"], 1), single("r", 1)], deletionOf("x"), limits), true);
    assert.equal(isFull([packed(["p", "q"], 1), single("r", 1)], evictionOf("x"), limits), false);
    assert.equal(isFull([single("p")], evictionOf("x"), limits), true);
  });
});

test("the fullest history is told by the kind of which it has the most, and 1 is full", () => {
  const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `pod-${index}`);
  const limits = { deletesMax: 10, evictionsMax: 4 };
  const evicted = (count: number): Bucket[] => names(count).map((name) => single(name, undefined, 1));
  const deleted = (count: number): Bucket[] => names(count).map((name) => single(name, 1));
  assert.equal(fullestOf([], limits), 0);
  assert.equal(fullestOf([deleted(5), [], evicted(1)], limits), 0.5);
  assert.equal(fullestOf([deleted(5), evicted(3)], limits), 0.75);
  assert.equal(fullestOf([[packed(names(8), 1), ...deleted(2)]], limits), 1);
  assert.equal(fullestOf([evicted(9)], limits), 1);
  assert.equal(isFull(evicted(4), evictionOf("x"), limits), true);
});
