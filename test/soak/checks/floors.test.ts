import assert from "node:assert/strict";
import { test } from "node:test";
import { type AvailabilityChange, FloorWatch } from "./floors.ts";

const change = (atMs: number, by: number, service = "web"): AvailabilityChange => ({ atMs, service, by });

function watchOf(available: number): FloorWatch {
  const watch = new FloorWatch(new Map([["web", 2]]));
  watch.add([{ untilMs: 0, changes: [change(0, available)] }]);
  watch.guard();
  return watch;
}

test("changes of two workers are judged in the order of time, whichever was asked first", () => {
  const watch = watchOf(2);
  watch.add([
    { untilMs: 20, changes: [change(12, -1)] },
    { untilMs: 20, changes: [change(11, 1)] },
  ]);
  assert.deepEqual(watch.breaches, []);
  assert.equal(watch.leastSpare, 0);
});

test("a moment below the floor is found, also when it is over before anybody asks", () => {
  const watch = watchOf(2);
  watch.add([
    { untilMs: 20, changes: [change(11, -1)] },
    { untilMs: 20, changes: [change(12, 1)] },
  ]);
  assert.deepEqual(watch.breaches, ["web: 1 pods were available, 2 must stay"]);
});

test("a change waits until all workers were asked about its time", () => {
  const watch = watchOf(2);
  watch.add([
    { untilMs: 15, changes: [] },
    { untilMs: 20, changes: [change(18, -1)] },
  ]);
  assert.equal(watch.leastSpare, 0);
  watch.add([
    { untilMs: 30, changes: [change(17, 1)] },
    { untilMs: 30, changes: [] },
  ]);
  assert.deepEqual(watch.breaches, []);
});

test("a service that has too little when the guard begins is a breach", () => {
  assert.equal(watchOf(1).breaches.length, 1);
});

test("a service without a floor may have any number of pods", () => {
  const watch = watchOf(3);
  watch.add([{ untilMs: 20, changes: [change(11, 1, "other"), change(12, -1, "other")] }]);
  assert.deepEqual([watch.breaches, watch.leastSpare], [[], 1]);
});
