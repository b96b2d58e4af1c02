import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketKind, bucketWeight, totalWeight } from "../../../../src/accounting/history/bucket.ts";
import { anonymous, evicted, packed, single, timeText } from "../samples.ts";

test("a bucket with a UID is a single one, with its version if there is one", () => {
  const one = { kind: "single", podUID: "x", isEvicted: false };
  assert.deepEqual(bucketKind(single("x", 10)), { ...one, version: "10" });
  assert.deepEqual(bucketKind(single("x")), { ...one, version: undefined });
  assert.deepEqual(bucketKind(evicted("x", 9)), { ...one, version: "9", isEvicted: true });
  // Nobody writes both; the weaker tie and the higher version are the safe ones.
  assert.deepEqual(bucketKind({ ...evicted("x", 9), ...single("x", 10) }), { ...one, version: "10", isEvicted: true });
});

test("a bucket with digests is packed when counter and version fit them", () => {
  const kind = bucketKind(packed(["x", "y"], 10));
  assert.equal(kind.kind, "packed");
  assert.equal(kind.kind === "packed" && kind.digests.size, 2);
});

test("everything else is anonymous and keeps its weight", () => {
  const odd = [
    anonymous(7),
    { startTime: timeText(0) },
    { ...packed(["x", "y"], 10), counter: 3 },
    { ...packed(["x", "y"], 10), podUIDDigests: "%%%" },
    { startTime: timeText(0), counter: 2, podUIDDigests: packed(["x", "y"], 1).podUIDDigests ?? "" },
    { ...single(""), counter: 4 },
    // More admissions than one pod can have: the others are unknown.
    { ...single("x", 10), counter: 5 },
  ];
  assert.deepEqual(
    odd.map((bucket) => bucketKind(bucket)),
    [7, 1, 3, 2, 2, 4, 5].map((counter) => ({ kind: "anonymous", counter })),
  );
});

test("a weight is the counter, at least 1", () => {
  assert.deepEqual(
    [single("x"), anonymous(5), anonymous(0), anonymous(-3)].map((bucket) => bucketWeight(bucket)),
    [1, 5, 1, 1],
  );
  assert.equal(totalWeight([single("x"), anonymous(5), packed(["y", "z"], 1)]), 8);
  assert.equal(totalWeight(undefined), 0);
});
