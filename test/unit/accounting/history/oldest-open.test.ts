import assert from "node:assert/strict";
import { test } from "node:test";
import { oldestAges, oldestOpen } from "../../../../src/accounting/history/oldest-open.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { anonymous, cell, counts, packed, single, timeText } from "../samples.ts";
import { epochMicrosOf } from "../../../../src/api/micro-time.ts";

const now = (seconds: number): EpochMicros => epochMicrosOf(timeText(seconds));

test("the oldest admissions of all cells come first, with pod, kind and age", () => {
  const cells = [
    cell(counts(9), [single("x", 1, 30), { ...single("y", undefined, 10), podName: "web-1" }], "a"),
    cell(counts(9), [single("z", 1, 20), single("w", 1, 5)], "b"),
  ];
  assert.deepEqual(oldestOpen(cells, 3, now(60)), [
    { cellID: "b", pod: "w", kind: "delete", ageSeconds: 55 },
    { cellID: "a", pod: "web-1", kind: "eviction", ageSeconds: 50 },
    { cellID: "b", pod: "z", kind: "delete", ageSeconds: 40 },
  ]);
});

test("packed and unknown pods have no name, a time in the future has the age 0, a malformed one is left out", () => {
  const open = [packed(["x"], 3), anonymous(2), { startTime: "" as const, podUID: "y" }];
  const found = oldestOpen([cell(counts(9), open, "a")], 3, now(-100));
  assert.deepEqual(
    found.map(({ pod, kind, ageSeconds }) => [pod, kind, ageSeconds]),
    [
      [undefined, "packed", 0],
      [undefined, "unknown", 0],
    ],
  );
});

test("the age of the oldest admission is told by kind over all histories, 0 where there is none", () => {
  const histories = [[single("x", 1, 30), single("y", undefined, 10)], [], [single("z", 1, 20), packed(["v"], 3)]];
  const { packed: ofPacks, ...ages } = oldestAges(histories, now(60));
  assert.deepEqual(ages, { delete: 40, eviction: 50, unknown: 0 });
  assert.ok(ofPacks > 0);
  assert.equal(oldestAges([[{ startTime: "", podUID: "y" }]], now(60)).delete, 0);
});
