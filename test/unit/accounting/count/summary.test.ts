import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket, type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type SummarizedSpec, summarize } from "../../../../src/accounting/count/summary.ts";
import { anonymous, cell, counts, packed, single, timeText } from "../samples.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";

const none: SummarizedSpec = { minAvailable: 0 };

test("sums all cells, and subtracts every unsettled admission in full", () => {
  const cells = [
    cell(counts(5), [single("x"), packed(["y", "z"], 3)], "a"),
    cell(counts(2, { totalReplicas: 4 }), [anonymous(6)], "b"),
    cell(undefined, [single("w")], "c"),
  ];
  const { maxLatencyMillis: _, ...summary } = summarize(cells, none);
  assert.deepEqual(summary, {
    totalReplicas: 9,
    aggregatedAvailableReplicas: 7,
    estimatedAvailableReplicas: -3,
    aggregatedReady: 7,
    aggregatedScheduled: 7,
    aggregatedRunning: 7,
    aggregatedInitialized: 7,
    promised: 6,
    disruptionsAllowed: 1,
    countedCells: 2,
  });
});

test("what is 0 is written, so that no column is empty", () => {
  assert.deepEqual(summarize([], none), {
    totalReplicas: 0,
    aggregatedAvailableReplicas: 0,
    estimatedAvailableReplicas: 0,
    maxLatencyMillis: 0,
    aggregatedReady: 0,
    aggregatedScheduled: 0,
    aggregatedRunning: 0,
    aggregatedInitialized: 0,
    promised: 0,
    disruptionsAllowed: 0,
    countedCells: 0,
  });
});

test("what a cell has promised beyond its counts takes nothing from the others, unless nobody has counted it", () => {
  const over = cell(counts(1), [anonymous(5)], "a");
  const { promised, disruptionsAllowed } = summarize([over, cell(counts(4), [], "b")], { minAvailable: 1 });
  assert.deepEqual([promised, disruptionsAllowed], [1, 3]);
  const ghost = cell(undefined, [anonymous(2)], "ghost");
  assert.equal(summarize([ghost, cell(counts(4), [], "b")], { minAvailable: 1 }).disruptionsAllowed, 1);
});

test("free is what the promised deletions leave above the floor, by the criterion of the PodProtector", () => {
  const cells = [cell(counts(5), [single("x")], "a"), cell(counts(2, { runningReplicas: 4 }), [], "b")];
  const free = (spec: SummarizedSpec): number | undefined => summarize(cells, spec).disruptionsAllowed;
  assert.equal(free({ minAvailable: 4 }), 2);
  assert.equal(free({ minAvailable: 6 }), 0);
  assert.equal(free({ minAvailable: 7 }), 0, "never below 0");
  assert.equal(free({ minAvailable: 0 }), 6);
  assert.equal(free({ minAvailable: -2 }), 6, "no more than there are");
  assert.equal(free({ minAvailable: 4, healthCriterion: "Running" }), 4);
  assert.equal(free({ minAvailable: 4, healthCriterion: "running" }), 2, "unknown, so Available");
});

test("the latency is by how much the newest admission is ahead of its own cell's counts", () => {
  const late = cell(
    counts(1, { lastEventTime: timeText(10), countedAt: timeText(11) }),
    [single("x", 1, 12), single("y", 1, 11)],
    "a",
  );
  const lessLate = cell(counts(1, { lastEventTime: timeText(50), countedAt: timeText(51) }), [single("z", 1, 51)], "b");
  const latency = (...cells: readonly CellStatus[]) => summarize(cells, none).maxLatencyMillis;
  assert.equal(latency(late, lessLate), 2000);
  assert.equal(latency(cell(counts(1, { lastEventTime: timeText(13) }), [single("x", 1, 12)])), 0);
  assert.equal(latency(cell(counts(1), [single("x", 1, 12)])), 0);
  const malformed = cell(counts(1, { lastEventTime: timeText(10) }), [{ startTime: "", podUID: "x" }]);
  assert.equal(latency(malformed), 0);
});

test("time in which nothing happened is no latency, but what has waited since is", () => {
  const counted = counts(3, { lastEventTime: timeText(10), countedAt: timeText(11) });
  const latency = (...buckets: readonly Bucket[]) => summarize([cell(counted, buckets)], none).maxLatencyMillis;
  assert.equal(latency(single("x", 1, 311)), 1000, "five quiet minutes");
  assert.equal(latency(single("x", 1, 311), single("y", 1, 341)), 31_000, "x has waited for 30 s");
  assert.equal(latency(single("x", 1, 9), single("y", 1, 341)), 331_000, "it was open when the cell was counted");
  const byGo = { totalReplicas: 3, availableReplicas: 3, lastEventTime: timeText(10) };
  assert.equal(summarize([cell(byGo, [single("x", 1, 310)])], none).maxLatencyMillis, 300_000);
});

test("whatever one cell says of itself, the summary stays in the range that the CRD takes", () => {
  const rng = createSeededRng(12);
  const edges = [0, 1, 5, 1_000_000, 2 ** 31 - 1];
  const number = (): number => edges[Math.floor(rng.next() * edges.length)] ?? 0;
  for (let round = 0; round < 500; round++) {
    const cells = Array.from({ length: 1 + Math.floor(rng.next() * 40) }, (_, index) => {
      const of = counts(number(), {
        totalReplicas: number(),
        readyReplicas: number(),
        runningReplicas: number(),
        unseenReplicas: number(),
        lastEventTime: timeText(rng.next() < 0.5 ? -1_000_000_000 : 0),
      });
      const buckets = Array.from({ length: 3 }, () => ({ ...anonymous(1), counter: number() }));
      return cell(of, rng.next() < 0.5 ? [] : buckets, `c${index}`);
    });
    const summary = summarize(cells, { minAvailable: number() });
    for (const [field, value] of Object.entries(summary))
      assert.ok(Number.isInteger(value) && Math.abs(value) <= 2 ** 31 && value < 2 ** 31, `${field}: ${value}`);
    assert.deepEqual(summarize(cells, { minAvailable: 1 }), summarize(cells, { minAvailable: 1 }));
  }
});
