import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { anonymous, cell, counts, packed, single, timeText } from "../samples.ts";

test("sums all cells, and subtracts every unsettled admission in full", () => {
  const cells = [
    cell(counts(5), [single("x"), packed(["y", "z"], 3)], "a"),
    cell(counts(2, { totalReplicas: 4 }), [anonymous(6)], "b"),
    cell(undefined, [single("w")], "c"),
  ];
  assert.deepEqual(summarize(cells), {
    totalReplicas: 9,
    aggregatedAvailableReplicas: 7,
    estimatedAvailableReplicas: -3,
    aggregatedReady: 7,
    aggregatedScheduled: 7,
    aggregatedRunning: 7,
    aggregatedInitialized: 7,
  });
});

test("leaves out what is 0, as Go does", () => {
  assert.deepEqual(summarize([]), { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 });
});

test("the latency is by how much the newest admission is ahead of its own cell's counts", () => {
  const late = cell(
    counts(1, { lastEventTime: timeText(10), countedAt: timeText(11) }),
    [single("x", 1, 12), single("y", 1, 11)],
    "a",
  );
  const lessLate = cell(counts(1, { lastEventTime: timeText(50), countedAt: timeText(51) }), [single("z", 1, 51)], "b");
  assert.equal(summarize([late, lessLate]).maxLatencyMillis, 2000);
  assert.equal(
    summarize([cell(counts(1, { lastEventTime: timeText(13) }), [single("x", 1, 12)])]).maxLatencyMillis,
    undefined,
  );
  assert.equal(summarize([cell(counts(1), [single("x", 1, 12)])]).maxLatencyMillis, undefined);
  const malformed = cell(counts(1, { lastEventTime: timeText(10) }), [{ startTime: "", podUID: "x" }]);
  assert.equal(summarize([malformed]).maxLatencyMillis, undefined);
});

test("time in which nothing happened is no latency, but what has waited since is", () => {
  const counted = counts(3, { lastEventTime: timeText(10), countedAt: timeText(11) });
  const latency = (...buckets: readonly Bucket[]) => summarize([cell(counted, buckets)]).maxLatencyMillis;
  assert.equal(latency(single("x", 1, 311)), 1000, "five quiet minutes");
  assert.equal(latency(single("x", 1, 311), single("y", 1, 341)), 31_000, "x has waited for 30 s");
  assert.equal(latency(single("x", 1, 9), single("y", 1, 341)), 331_000, "it was open when the cell was counted");
  const byGo = { totalReplicas: 3, availableReplicas: 3, lastEventTime: timeText(10) };
  assert.equal(summarize([cell(byGo, [single("x", 1, 310)])]).maxLatencyMillis, 300_000);
});
