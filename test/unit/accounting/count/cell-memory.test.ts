import assert from "node:assert/strict";
import { test } from "node:test";
import { type Aggregation } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { CellMemory, type OwnAggregation } from "../../../../src/accounting/count/cell-memory.ts";
import { counts, marks, timeText, version } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";

const own = counts(3, { lastEventTime: timeText(1) });
function stripped(aggregation: Aggregation): Aggregation {
  const { resourceVersion: _a, countedAt: _b, countedSpec: _c, initializedReplicas: _d, ...rest } = aggregation;
  return rest;
}
function wrote(aggregation: OwnAggregation): CellMemory {
  const memory = new CellMemory(marks);
  memory.wrote(aggregation);
  return memory;
}

test("extensions that a Go component dropped are restored when the counts are still ours", () => {
  assert.deepEqual(wrote(own).effective(stripped(own)), own);
});

test("extensions that a Go component dropped are restored when Go leaves out zeros", () => {
  const zero = counts(0, { lastEventTime: timeText(1) });
  const { readyReplicas: _a, scheduledReplicas: _b, runningReplicas: _c, ...byGo } = stripped(zero);
  assert.equal(wrote(zero).effective(byGo)?.resourceVersion, "100");
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
  for (const other of others) assert.equal(wrote(own).effective(other), other);
});

test("counts without extensions are read as they are by an aggregator that has not written yet", () => {
  assert.equal(new CellMemory(marks).effective(stripped(own))?.resourceVersion, undefined);
});

test("counts with a version are read as they are", () => {
  const newer = counts(3, { resourceVersion: version(200) });
  assert.equal(wrote(own).effective(newer), newer);
  assert.equal(wrote(own).effective(undefined), undefined);
});

test("the wait for first counts goes on while the recorded state is the same, and starts again with another", () => {
  const memory = new CellMemory(marks);
  assert.equal(memory.firstCountsSince("spec", ms(1)), 1);
  assert.equal(memory.firstCountsSince("spec", ms(5)), 1);
  assert.equal(memory.firstCountsSince("other", ms(6)), 6);
  // Another aggregator has written, and a Go component has stripped the version.
  assert.equal(memory.firstCountsSince("other", ms(7), stripped(own)), 7);
  assert.equal(memory.firstCountsSince("other", ms(9), stripped(own)), 7);
  memory.firstCountsDone();
  assert.equal(memory.firstCountsSince("other", ms(11), stripped(own)), 11);
});

test("a recorded version below our own means that the core was restored, until we have written again", () => {
  const memory = wrote(own);
  for (const recorded of [own, counts(3, { resourceVersion: version(101) }), stripped(own), undefined]) {
    assert.equal(memory.checkRestored(recorded, ms(5)), false);
  }
  assert.equal(memory.checkRestored(counts(3, { resourceVersion: version(99) }), ms(5)), true);
  assert.equal(memory.checkRestored(counts(3, { resourceVersion: version(99) }), ms(9)), true);
  assert.equal(memory.restoredSinceMs, 5);
  memory.wrote(own);
  assert.equal(memory.restoredSinceMs, undefined);
});

test("after a reset of the worker the recorded version and our own are ignored, and a new one is not", () => {
  const memory = wrote(own);
  memory.workerReset(own);
  assert.deepEqual(memory.effective(own), stripVersion(own));
  assert.equal(memory.effective(stripped(own))?.resourceVersion, undefined);
  const fresh = counts(3, { resourceVersion: version(7) });
  assert.equal(memory.effective(fresh), fresh);
});

function stripVersion(aggregation: Aggregation): Aggregation {
  const { resourceVersion: _, ...rest } = aggregation;
  return rest;
}

test("a version below our own is not a restore when another aggregator has recounted", () => {
  const memory = new CellMemory(marks);
  memory.wrote(own);
  const recounted = { ...own, resourceVersion: version(1), recountedAt: timeText(0) };
  assert.equal(memory.checkRestored(recounted, ms(7)), false);
  assert.equal(memory.checkRestored({ ...own, resourceVersion: version(1) }, ms(7)), true);
});

test("the mark of a recount is later than the recorded one and than our own last, also after a reset", () => {
  const memory = new CellMemory(marks);
  assert.equal(memory.nextMark(undefined), timeText(50));
  assert.equal(memory.nextMark(counts(3, { recountedAt: timeText(60) })), timeText(60.000001));
  memory.wrote(counts(3, { recountedAt: timeText(70) }));
  memory.wrote(own);
  memory.workerReset(own);
  assert.equal(memory.nextMark(counts(3, { recountedAt: timeText(60) })), timeText(70.000001));
});
