import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  createSyncTime,
  settleByTime,
  type PodEvent,
  type SyncTimeAlgorithm,
} from "../../../../src/accounting/settle/sync-time.ts";
import { anonymous, at, Bench, livePod, packed, settlementConfig, single, snapshot, timeText } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";

const timeBased: readonly SyncTimeAlgorithm[] = [
  { kind: "clock" },
  { kind: "status" },
  { kind: "managed-fields" },
  { kind: "annotation", key: "example.com/written" },
];
const event = (type: PodEvent["type"], seconds?: number): PodEvent => ({
  type,
  object: { eventTime: seconds === undefined ? undefined : at(seconds) },
});

test("by time a bucket settles once the time is past it, and not at the same microsecond", () => {
  const buckets = [single("a", 10, 5), single("b", undefined, 6), single("c", 10, 7)];
  assert.deepEqual(settleByTime(buckets, at(6)).buckets, buckets.slice(1));
  assert.deepEqual(settleByTime(buckets, at(6.000001)).buckets, buckets.slice(2));
  assert.deepEqual([...settleByTime(buckets, at(6.000001)).settled], [["event-time", 2]]);
});

test("by time a bucket of many settles as a whole, once the time is past its end", () => {
  for (const bucket of [packed(["a", "b", "c"], 10), anonymous(3)]) {
    assert.deepEqual(settleByTime([bucket], at(1)).buckets, [bucket]);
    const settlement = settleByTime([bucket], at(1.000001));
    assert.deepEqual(settlement.buckets, []);
    assert.deepEqual([...settlement.settled], [["event-time", 3]]);
  }
});

test("by time nothing settles before there is a time, and a bucket without a valid time never does", () => {
  const buckets = [single("a", 10, 5)];
  assert.equal(settleByTime(buckets, undefined).buckets, buckets);
  const malformed: readonly Bucket[] = [
    { startTime: "", podUID: "a" },
    { ...single("b", 10, 5), endTime: "" },
  ];
  assert.equal(settleByTime(malformed, at(1e6)).buckets, malformed);
});

test("settlement by time needs no fence, no barrier and no wake-up", () => {
  const { fence, barrierFromMs, wakeAtMs } = settleByTime([single("a", 10, 5)], at(5));
  assert.deepEqual([fence, barrierFromMs, wakeAtMs], [[], undefined, undefined]);
});

test("every algorithm but observed settles by time, whatever the snapshot says of the pod", () => {
  const bench = new Bench().see([single("a", 10, 5)], 0);
  const { buckets, firstSeen, fences } = bench;
  const input = {
    buckets,
    firstSeen,
    fences,
    config: settlementConfig,
    nowMs: ms(1e6),
    snapshot: snapshot([livePod("a", 99)], 200, 1e6),
  };
  for (const algorithm of timeBased) {
    const { settle } = createSyncTime(algorithm);
    assert.equal(settle(input, at(5)).buckets, buckets, algorithm.kind);
    assert.deepEqual(settle(input, at(6)).buckets, [], algorithm.kind);
  }
  const { settle } = createSyncTime({ kind: "observed" });
  assert.deepEqual([...settle(input, undefined).settled], [["newer-version", 1]]);
  const alive = { ...input, snapshot: snapshot([livePod("a", 10)], 200) };
  assert.deepEqual(settle(alive, at(1000)).buckets, buckets, "no time settles anything");
});

test("clock takes the arrival of any event", () => {
  const { ofEvent } = createSyncTime({ kind: "clock" });
  for (const type of ["added", "modified", "deleted"] as const) assert.equal(ofEvent(event(type, 3), at(9)), at(9));
});

test("the other algorithms take the time that the pod of an event carries", () => {
  for (const algorithm of timeBased.slice(1)) {
    const { ofEvent } = createSyncTime(algorithm);
    for (const type of ["added", "modified", "deleted"] as const) assert.equal(ofEvent(event(type, 3), at(9)), at(3));
    assert.equal(ofEvent(event("modified"), at(9)), undefined);
  }
});

test("an empty list moves the time but a barrier does not; for observed it is the other way round", () => {
  for (const algorithm of timeBased) {
    const syncTime = createSyncTime(algorithm);
    assert.equal(syncTime.ofEmptyList(at(9)), at(9));
    assert.equal(syncTime.ofBarrier(at(9)), undefined);
  }
  const observed = createSyncTime({ kind: "observed" });
  assert.equal(observed.ofEmptyList(at(9)), undefined);
  assert.equal(observed.ofBarrier(at(9)), at(9));
  assert.equal(observed.ofEvent(event("modified", 3), at(9)), at(3));
  assert.equal(observed.ofEvent(event("deleted", 3), at(9)), undefined);
});

test("the event time is read from the fields that the algorithm is named after", () => {
  const metadata = {
    creationTimestamp: timeText(1),
    annotations: { "example.com/written": timeText(2) },
    managedFields: [{ time: timeText(3) }],
  };
  const status = { conditions: [{ lastTransitionTime: timeText(4) }] };
  const read = (algorithm: SyncTimeAlgorithm) => createSyncTime(algorithm).readEventTime(metadata, status);
  assert.deepEqual(timeBased.map(read), [undefined, at(4), at(3), at(2)]);
  assert.equal(read({ kind: "observed" }), at(3));
});
