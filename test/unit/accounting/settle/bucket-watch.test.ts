import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { BucketWatch } from "../../../../src/accounting/settle/bucket-watch.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { anonymous, packed, single } from "../samples.ts";

function watching(
  ...history: readonly (readonly [
    nowMs: number,
    buckets: Parameters<BucketWatch["observe"]>[0],
    continuous?: boolean,
  ])[]
): BucketWatch {
  const watch = new BucketWatch();
  for (const [nowMs, buckets, continuous] of history) watch.observe(buckets, nowMs, continuous ?? true);
  return watch;
}

test("a single bucket is seen since it has its start time and version", () => {
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 10)]]).single("x").sinceMs, 1);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 11)]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 10, 3)]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x")]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, []], [9, [single("x", 10)]]).single("x").sinceMs, 9);
});

test("a packed pod is seen since it moved into a packed bucket, also when the bucket takes in others", () => {
  const watch = watching([1, [single("x", 10)]], [5, [packed(["x"], 10)]], [9, [packed(["x", "y"], 20)]]);
  assert.equal(watch.packed(digestOfUID("x")).sinceMs, 5);
  assert.equal(watch.packed(digestOfUID("y")).sinceMs, 9);
  watch.observe([single("x", 10), packed(["y"], 20)], 12, true);
  assert.equal(watch.single("x").sinceMs, 12);
});

test("a gap starts the waits of packed and anonymous pods again, not those of single ones", () => {
  const buckets = [single("x"), packed(["y"], 10), anonymous(3)];
  const watch = watching([1, buckets], [5, buckets, false]);
  assert.deepEqual(
    [watch.single("x").sinceMs, watch.packed(digestOfUID("y")).sinceMs, watch.anonymousSinceMs()],
    [1, 5, 5],
  );
});

test("an unseen exchange of anonymous admissions settles nothing early", () => {
  // Our settling write is lost, three others come in its place, and the next thing that is read has the same number.
  const watch = watching([0, [anonymous(3)]], [80_000, [anonymous(3)], false]);
  assert.equal(watch.anonymousMinimumSince(5000), 0);
});

test("what was never observed has waited for nothing, and stays so", () => {
  const watch = new BucketWatch();
  assert.equal(watch.single("x").sinceMs, Infinity);
  assert.equal(watch.comparableSinceMs(watch.single("x"), 7), 7);
  assert.equal(watch.comparableSinceMs(watch.packed("0"), 9), 9);
});

test("a bucket is comparable since the first question, until it changes", () => {
  const watch = watching([1, [single("x", 10)]]);
  assert.equal(watch.comparableSinceMs(watch.single("x"), 4), 4);
  watch.observe([single("x", 10)], 6, true);
  assert.equal(watch.comparableSinceMs(watch.single("x"), 8), 4);
  watch.observe([single("x", 11)], 9, true);
  assert.equal(watch.comparableSinceMs(watch.single("x"), 12), 12);
});

test("a restart of the waits makes everything as if first seen now", () => {
  const watch = watching([1, [single("x", 10), packed(["y"], 10), anonymous(3)]]);
  watch.comparableSinceMs(watch.single("x"), 2);
  watch.restart(50);
  assert.deepEqual(
    [watch.single("x").sinceMs, watch.packed(digestOfUID("y")).sinceMs, watch.anonymousSinceMs()],
    [50, 50, 50],
  );
  assert.equal(watch.comparableSinceMs(watch.single("x"), 60), 60);
  watch.observe([single("x", 10)], 70, true);
  assert.equal(watch.single("x").sinceMs, 50);
});

describe("the number of anonymous admissions", () => {
  test("its minimum counts from a moment until now, and is 0 before it was known", () => {
    const watch = watching([10, [anonymous(5)]], [20, [anonymous(9)]], [30, [anonymous(7)]]);
    assert.equal(watch.anonymousMinimumSince(9), 0);
    // Two of the five have left: the oldest go first.
    assert.equal(watch.anonymousMinimumSince(10), 3);
    assert.equal(watch.anonymousMinimumSince(20), 7);
    assert.equal(watch.anonymousCount(), 7);
  });

  test("constant traffic that never leaves it unchanged does not hold the oldest for ever (L3)", () => {
    const watch = new BucketWatch();
    let count = 0;
    for (let nowMs = 0; nowMs <= 200_000; nowMs += 1000) {
      count += 1;
      watch.observe([anonymous(count)], nowMs, true);
      const due = watch.anonymousMinimumSince(nowMs - 75_000);
      if (due > 0) {
        count -= due;
        watch.observe(count === 0 ? [] : [anonymous(count)], nowMs, true);
      }
      assert.ok(count <= 76, `${count} at ${nowMs}`);
    }
  });

  test("it says when a barrier would settle more than the last one did", () => {
    const watch = watching([10, [anonymous(5)]], [40, [anonymous(9)]]);
    assert.equal(watch.anonymousRipeAtMs(100, -Infinity), 110);
    assert.equal(watch.anonymousRipeAtMs(100, 110), 140);
  });

  test("beyond 1,024 changes the oldest are merged to the later time: later, never earlier", () => {
    const watch = new BucketWatch();
    for (let nowMs = 0; nowMs < 3000; nowMs += 1) watch.observe([anonymous(nowMs + 1)], nowMs, true);
    assert.equal(watch.anonymousMinimumSince(100), 0);
    assert.equal(watch.anonymousMinimumSince(2500), 2501 - 0);
    for (let fromMs = 0; fromMs < 3000; fromMs += 7) assert.ok(watch.anonymousMinimumSince(fromMs) <= fromMs + 1);
  });

  test("nothing is left of it when the last has gone", () => {
    const watch = watching([10, [anonymous(5)]], [20, []], [30, [anonymous(2)]]);
    assert.equal(watch.anonymousSinceMs(), 30);
    assert.equal(watching([10, [anonymous(5)]], [20, []]).anonymousSinceMs(), undefined);
  });
});
