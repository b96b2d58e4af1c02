import assert from "node:assert/strict";
import { test } from "node:test";
import { type Aggregation, type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type OwnAggregation, ProtectorMemory } from "../../../../src/accounting/count/protector-memory.ts";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { longAgo } from "../../../../src/util/clock.ts";
import { at } from "../../../support/moment.ts";
import { counts as countsAt, type ProtectorOptions, storedProtector } from "../../aggregator/protectors.ts";
import { counts, marks, SampleMemory, timeText, version } from "../samples.ts";

const own = counts(3, { lastEventTime: timeText(1) });
function stripped(aggregation: Aggregation): Aggregation {
  const { resourceVersion: _a, countedAt: _b, countedSpec: _c, initializedReplicas: _d, ...rest } = aggregation;
  return rest;
}
const wrote = (aggregation: OwnAggregation): SampleMemory => new SampleMemory().counted(aggregation);
/** Since when the core counts as restored, after a live read that shows this. */
function restoredSinceMs(memory: SampleMemory, recorded: Aggregation | undefined, nowMs: number): number | undefined {
  memory.show(recorded);
  memory.readLive(memory.newest, memory.newest.resourceVersion, at(nowMs));
  return memory.restoredSinceMs;
}

test("extensions that a Go component dropped are restored when the counts are still ours", () => {
  assert.deepEqual(wrote(own).show(stripped(own)), own);
});

test("extensions that a Go component dropped are restored when Go leaves out zeros", () => {
  const zero = counts(0, { lastEventTime: timeText(1) });
  const { readyReplicas: _a, scheduledReplicas: _b, runningReplicas: _c, ...byGo } = stripped(zero);
  assert.equal(wrote(zero).show(byGo)?.resourceVersion, "100");
});

test("fields that the CRD drops from our own counts are restored, so that they are not written again and again", () => {
  const unseen = { ...own, unseenReplicas: 2 };
  assert.deepEqual(wrote(unseen).show(own), unseen);
  assert.equal(wrote(unseen).show({ ...own, resourceVersion: version(200) })?.unseenReplicas, undefined);
});

test("counts without extensions that are not ours, or of another event time, are read as they are", () => {
  const others = [
    { ...stripped(own), availableReplicas: 2 },
    { ...stripped(own), totalReplicas: 4 },
    { ...stripped(own), readyReplicas: 2 },
    { ...stripped(own), scheduledReplicas: 2 },
    { ...stripped(own), runningReplicas: 2 },
    { ...stripped(own), lastEventTime: timeText(2) },
  ];
  for (const other of others) assert.equal(wrote(own).show(other), other);
});

test("counts without extensions are read as they are by an aggregator that has not written yet", () => {
  assert.equal(new SampleMemory().show(stripped(own))?.resourceVersion, undefined);
});

test("counts with a version are read as they are", () => {
  const newer = counts(3, { resourceVersion: version(200) });
  assert.equal(wrote(own).show(newer), newer);
  assert.equal(wrote(own).show(undefined), undefined);
});

test("the wait for first counts goes on while the recorded state is the same, and starts again with another", () => {
  const memory = new SampleMemory();
  const since = (nowMs: number) => memory.countableFromMs(75_000, at(nowMs));
  assert.equal(since(1), 1);
  assert.equal(since(5), 1);
  memory.spec = "other";
  assert.equal(since(6), 6);
  // Another aggregator has written, and a Go component has stripped the version.
  memory.show(stripped(own));
  assert.equal(since(7), 7);
  assert.equal(since(9), 7);
  memory.relisted(at(10));
  assert.equal(since(11), 11);
  memory.show({ ...own, countedSpec: "other" });
  assert.equal(since(12), undefined, "none are needed");
});

test("a recorded version below our own means that the core was restored, until we have written again", () => {
  const memory = wrote(own);
  for (const recorded of [own, counts(3, { resourceVersion: version(101) }), stripped(own), undefined])
    assert.equal(restoredSinceMs(memory, recorded, 5), undefined);
  assert.equal(restoredSinceMs(memory, counts(3, { resourceVersion: version(99) }), 5), 5);
  assert.equal(restoredSinceMs(memory, counts(3, { resourceVersion: version(99) }), 9), 5);
  assert.equal(memory.counted(own).restoredSinceMs, undefined);
});

test("after a reset of the worker the recorded version and our own are ignored, and a new one is not", () => {
  const memory = wrote(own);
  memory.show(own);
  memory.workerReset(at(0));
  const { resourceVersion: _, ...rest } = own;
  assert.deepEqual(memory.show(own), rest);
  assert.equal(memory.show(stripped(own))?.resourceVersion, undefined);
  const fresh = counts(3, { resourceVersion: version(7) });
  assert.equal(memory.show(fresh), fresh);
});

test("a version below our own is not a restore when another aggregator has recounted", () => {
  const memory = wrote(own);
  const recounted = { ...own, resourceVersion: version(1), recountedAt: timeText(0) };
  assert.equal(restoredSinceMs(memory, recounted, 7), undefined);
  assert.equal(restoredSinceMs(memory, { ...own, resourceVersion: version(1) }, 7), 7);
});

test("the mark of a recount is later than the recorded one and than our own last, also after a reset", () => {
  const memory = new SampleMemory();
  assert.equal(memory.nextMark(), timeText(50));
  memory.show(counts(3, { recountedAt: timeText(60) }));
  assert.equal(memory.nextMark(), timeText(60.000001));
  memory
    .counted(counts(3, { recountedAt: timeText(70) }))
    .counted(own)
    .workerReset(at(0));
  assert.equal(memory.nextMark(), timeText(70.000001));
});

/** What is remembered after the events of cell-1 that a test tells of, each at its moment. */
class Remembered extends ProtectorMemory {
  constructor(first: ProtectorOptions = {}, nowMs = 0, selector = "selector", cellID = "cell-1") {
    super(storedProtector(10, first), selector, { cellID, marks, blindUntilMs: longAgo }, at(nowMs));
  }
  sees(nowMs: number, objectVersion: number, options: ProtectorOptions = {}, selector = "selector"): void {
    this.watched(storedProtector(objectVersion, options), selector, false, at(nowMs));
  }
  reads(nowMs: number, objectVersion: number, options: ProtectorOptions = {}): void {
    this.readLive(storedProtector(objectVersion, options), this.newest.resourceVersion, at(nowMs));
  }
  writes(nowMs: number, objectVersion: number, options: ProtectorOptions = {}): void {
    this.wrote(storedProtector(objectVersion, options), countsAt("100"), at(nowMs));
  }
  /** Asks since when first counts have been wanted. */
  since(nowMs: number): number | undefined {
    return this.countableFromMs(75_000, at(nowMs));
  }
  get base(): string {
    return this.newest.resourceVersion;
  }
}

const eviction: Bucket = { startTime: timeText(0), podUID: "uid-a" };
const digest = digestOfUID("uid-p");
const packed: Bucket = {
  startTime: timeText(0),
  counter: 1,
  podResourceVersion: version(7),
  podUIDDigests: packDigests([digest]),
};
const buckets = [eviction, packed];
const byGo = { aggregation: { totalReplicas: 1, availableReplicas: 1 } };

test("the newest of watch, own write and live read is the base, and late events do not bring the past back", () => {
  const memory = new Remembered();
  memory.writes(1, 20);
  memory.sees(2, 15);
  assert.equal(memory.base, "20");
  memory.sees(3, 20);
  memory.sees(4, 25);
  assert.equal(memory.base, "25");
  memory.reads(5, 30);
  memory.sees(6, 28);
  assert.equal(memory.base, "30");
  assert.equal(memory.restoredSinceMs, undefined);
});

test("an event that goes back means that the core was restored, and becomes the base", () => {
  const memory = new Remembered();
  memory.watched(storedProtector(5), "selector", true, at(7));
  assert.deepEqual([memory.base, memory.restoredSinceMs], ["5", 7]);
});

test("a live read that goes back, or that lacks our own counts, means the same", () => {
  const older = new Remembered();
  older.reads(7, 9);
  assert.deepEqual([older.base, older.restoredSinceMs], ["9", 7]);

  const advanced = new Remembered();
  advanced.writes(1, 11, { aggregation: countsAt("100") });
  advanced.reads(7, 50, { aggregation: countsAt("90") });
  assert.equal(advanced.restoredSinceMs, 7);
});

test("a live read that the watch has overtaken while it was under way is no restored core", () => {
  const memory = new Remembered();
  const known = memory.newest.resourceVersion;
  // Our PUT over version 10 got 409, the GET read version 11; before its answer is handled the watch delivers 12.
  memory.sees(5, 12);
  memory.readLive(storedProtector(11), known, at(6));
  assert.deepEqual([memory.base, memory.restoredSinceMs], ["12", undefined]);
});

test("the answer of an own write that the watch has overtaken does not bring the past back", () => {
  const memory = new Remembered();
  memory.sees(5, 12, { buckets: [eviction] });
  memory.writes(6, 11);
  assert.equal(memory.base, "12");
  assert.equal(memory.firstSeen.single("uid-a").sinceMs, 5);
});

test("buckets are seen from the first version that has them, also over own writes", () => {
  const memory = new Remembered();
  memory.sees(100, 11, { buckets });
  memory.writes(200, 12, { buckets });
  assert.equal(memory.firstSeen.single("uid-a").sinceMs, 100);
  assert.equal(memory.firstSeen.packed(digest).sinceMs, 100);
});

test("after a relist packed pods start to wait again, and a live read is due", () => {
  const memory = new Remembered({ buckets }, 100);
  assert.equal(memory.needsLiveRead, false);
  memory.relisted(at(500));
  assert.equal(memory.needsLiveRead, true);
  assert.equal(memory.firstSeen.single("uid-a").sinceMs, 100);
  assert.equal(memory.firstSeen.packed(digest).sinceMs, 500);
  memory.reads(600, 10, { buckets });
  assert.equal(memory.needsLiveRead, false);
});

test("only the own cell is looked at", () => {
  const memory = new Remembered({ buckets: [eviction] }, 0, "selector", "another-cell");
  assert.equal(memory.cell(), undefined);
  assert.equal(memory.firstSeen.single("uid-a").sinceMs, Infinity);
});

test("a cell without counts wants first counts from the event on, until somebody counts or versions are missed", () => {
  const memory = new Remembered();
  memory.sees(100, 11, { buckets: [eviction] });
  assert.equal(memory.since(150), 0);
  memory.reads(160, 12);
  assert.equal(memory.since(170), 0);
  memory.reads(180, 13, byGo);
  assert.equal(memory.since(190), 190);
});

test("counts without a version that came after are a state of their own", () => {
  const memory = new Remembered();
  memory.sees(100, 11, byGo);
  assert.equal(memory.since(150), 150);
});

test("a spec that was another one meanwhile waits for its first counts anew", () => {
  const counted = { aggregation: countsAt("100") };
  const memory = new Remembered(counted, 0, "first");
  memory.sees(100, 11, counted, "second");
  assert.equal(memory.since(110), 110);
  memory.sees(120, 12, counted, "second");
  assert.equal(memory.since(130), 110);
  memory.sees(140, 13, counted, "first");
  memory.sees(150, 14, counted, "second");
  assert.equal(memory.since(160), 150);
});

test("after a relist the wait for first counts starts again", () => {
  const memory = new Remembered();
  memory.relisted(at(100));
  assert.equal(memory.since(150), 150);
});

test("the time behind a recorded version runs from the first question, separately for each version", () => {
  const memory = new Remembered({ aggregation: countsAt("100") });
  assert.equal(memory.behindSinceMs(at(50)), 50);
  assert.equal(memory.behindSinceMs(at(70)), 50);
  memory.sees(80, 11, { aggregation: countsAt("101") });
  assert.equal(memory.behindSinceMs(at(90)), 90);
});

test("after a reset of the worker, the next list is enough for first counts over the recorded ones", () => {
  const recorded = countsAt("90");
  const memory = new Remembered({ aggregation: recorded });
  memory.workerReset(at(500));
  assert.equal(memory.recorded()?.resourceVersion, undefined);
  assert.ok(memory.since(900)! < 500);
  memory.sees(900, 11, { aggregation: { ...recorded, countedAt: timeText(60) } });
  assert.equal(memory.since(901), 901, "somebody has counted since");
});
