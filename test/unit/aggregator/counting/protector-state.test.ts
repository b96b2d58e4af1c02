import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtectorState } from "../../../../src/aggregator/counting/protector-state.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { marks, timeText, version } from "../../accounting/samples.ts";
import { at } from "../../../support/moment.ts";
import { counts, storedProtector } from "../protectors.ts";

const eviction: Bucket = { startTime: timeText(0), podUID: "uid-a" };
const digest = digestOfUID("uid-p");
const packed: Bucket = {
  startTime: timeText(0),
  counter: 1,
  podResourceVersion: version(7),
  podUIDDigests: packDigests([digest]),
};

test("the newest of watch, own write and live read is the base, and late events do not bring the past back", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.wrote(storedProtector(20), counts("100"), at(1));
  state.watched(storedProtector(15), "selector", false, at(2));
  assert.equal(state.newest.resourceVersion, "20");
  state.watched(storedProtector(20), "selector", false, at(3));
  state.watched(storedProtector(25), "selector", false, at(4));
  assert.equal(state.newest.resourceVersion, "25");
  state.readLive(storedProtector(30), state.newest.resourceVersion, at(5));
  state.watched(storedProtector(28), "selector", false, at(6));
  assert.equal(state.newest.resourceVersion, "30");
  assert.equal(state.memory.restoredSinceMs, undefined);
});

test("an event that goes back means that the core was restored, and becomes the base", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.watched(storedProtector(5), "selector", true, at(7));
  assert.equal(state.newest.resourceVersion, "5");
  assert.equal(state.memory.restoredSinceMs, 7);
});

test("a live read that goes back, or that lacks our own counts, means the same", () => {
  const older = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  older.readLive(storedProtector(9), older.newest.resourceVersion, at(7));
  assert.equal(older.memory.restoredSinceMs, 7);
  assert.equal(older.newest.resourceVersion, "9");

  const advanced = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  advanced.wrote(storedProtector(11, { aggregation: counts("100") }), counts("100"), at(1));
  advanced.readLive(storedProtector(50, { aggregation: counts("90") }), advanced.newest.resourceVersion, at(7));
  assert.equal(advanced.memory.restoredSinceMs, 7);
});

test("a live read that the watch has overtaken while it was under way is no restored core", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  const known = state.newest.resourceVersion;
  // Our PUT over version 10 got 409, the GET read version 11; before its answer is handled the watch delivers 12.
  state.watched(storedProtector(12), "selector", false, at(5));
  state.readLive(storedProtector(11), known, at(6));
  assert.equal(state.memory.restoredSinceMs, undefined);
  assert.equal(state.newest.resourceVersion, "12");
});

test("the answer of an own write that the watch has overtaken does not bring the past back", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.watched(storedProtector(12, { buckets: [eviction] }), "selector", false, at(5));
  state.wrote(storedProtector(11), counts("100"), at(6));
  assert.equal(state.newest.resourceVersion, "12");
  assert.equal(state.firstSeen.single("uid-a").sinceMs, 5);
});

test("buckets are seen from the first version that has them, also over own writes", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.watched(storedProtector(11, { buckets: [eviction, packed] }), "selector", false, at(100));
  state.wrote(storedProtector(12, { buckets: [eviction, packed] }), counts("100"), at(200));
  assert.equal(state.firstSeen.single("uid-a").sinceMs, 100);
  assert.equal(state.firstSeen.packed(digest).sinceMs, 100);
});

test("after a relist packed pods start to wait again, and a live read is due", () => {
  const state = new ProtectorState(
    storedProtector(10, { buckets: [eviction, packed] }),
    "selector",
    "cell-1",
    marks,
    at(100),
  );
  assert.equal(state.needsLiveRead, false);
  state.relisted(at(500));
  assert.equal(state.needsLiveRead, true);
  assert.equal(state.firstSeen.single("uid-a").sinceMs, 100);
  assert.equal(state.firstSeen.packed(digest).sinceMs, 500);
  state.readLive(storedProtector(10, { buckets: [eviction, packed] }), state.newest.resourceVersion, at(600));
  assert.equal(state.needsLiveRead, false);
});

test("only the own cell is looked at", () => {
  const state = new ProtectorState(
    storedProtector(10, { buckets: [eviction] }),
    "selector",
    "another-cell",
    marks,
    at(0),
  );
  assert.equal(state.cell(), undefined);
  assert.equal(state.firstSeen.single("uid-a").sinceMs, Infinity);
});

test("a cell without counts wants first counts from the event on, until somebody counts or versions are missed", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.watched(storedProtector(11, { buckets: [eviction] }), "selector", false, at(100));
  assert.equal(state.memory.firstCountsSince(state.countedSpec()!, at(150)), 0);
  state.readLive(storedProtector(12), state.newest.resourceVersion, at(160));
  assert.equal(state.memory.firstCountsSince(state.countedSpec()!, at(170)), 0);
  state.readLive(
    storedProtector(13, { aggregation: { totalReplicas: 1, availableReplicas: 1 } }),
    state.newest.resourceVersion,
    at(180),
  );
  assert.equal(state.memory.firstCountsSince(state.countedSpec()!, at(190)), 190);
});

test("counts without a version that came after are a state of their own", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.watched(
    storedProtector(11, { aggregation: { totalReplicas: 1, availableReplicas: 1 } }),
    "selector",
    false,
    at(100),
  );
  assert.equal(state.memory.firstCountsSince(state.countedSpec()!, at(150)), 150);
});

test("a spec that was another one meanwhile waits for its first counts anew", () => {
  const aggregation = counts("100");
  const state = new ProtectorState(storedProtector(10, { aggregation }), "first", "cell-1", marks, at(0));
  const since = (ms: number) => state.memory.firstCountsSince(state.countedSpec()!, at(ms), aggregation);
  state.watched(storedProtector(11, { aggregation }), "second", false, at(100));
  assert.equal(since(110), 110);
  state.watched(storedProtector(12, { aggregation }), "second", false, at(120));
  assert.equal(since(130), 110);
  state.watched(storedProtector(13, { aggregation }), "first", false, at(140));
  state.watched(storedProtector(14, { aggregation }), "second", false, at(150));
  assert.equal(since(160), 160);
});

test("after a relist the wait for first counts starts again", () => {
  const state = new ProtectorState(storedProtector(10), "selector", "cell-1", marks, at(0));
  state.relisted(at(100));
  assert.equal(state.memory.firstCountsSince(state.countedSpec()!, at(150)), 150);
});

test("the time behind a recorded version runs from the first question, separately for each version", () => {
  const state = new ProtectorState(
    storedProtector(10, { aggregation: counts("100") }),
    "selector",
    "cell-1",
    marks,
    at(0),
  );
  assert.equal(state.behindSinceMs(at(50)), 50);
  assert.equal(state.behindSinceMs(at(70)), 50);
  state.watched(storedProtector(11, { aggregation: counts("101") }), "selector", false, at(80));
  assert.equal(state.behindSinceMs(at(90)), 90);
});

test("after a reset of the worker, the next list is enough for first counts over the recorded ones", () => {
  const recorded = counts("90");
  const state = new ProtectorState(storedProtector(10, { aggregation: recorded }), "selector", "cell-1", marks, at(0));
  state.workerReset(at(500));
  assert.equal(state.memory.effective(recorded)?.resourceVersion, undefined);
  assert.ok(state.memory.firstCountsSince(state.countedSpec()!, at(900), recorded) < 500);
  assert.equal(
    state.memory.firstCountsSince(state.countedSpec()!, at(901), { ...recorded, countedAt: timeText(60) }),
    901,
    "somebody has counted since",
  );
});
