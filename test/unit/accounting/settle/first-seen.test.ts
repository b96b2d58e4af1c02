import assert from "node:assert/strict";
import { test } from "node:test";
import { FirstSeen } from "../../../../src/accounting/settle/first-seen.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { anonymous, packed, single } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";
import { longAgo } from "../../../../src/util/clock.ts";

type History = (readonly [nowMs: number, buckets: Parameters<FirstSeen["observe"]>[0], continuous?: boolean])[];

function watching(...history: History): FirstSeen {
  const firstSeen = new FirstSeen();
  for (const [nowMs, buckets, continuous] of history) firstSeen.observe(buckets, ms(nowMs), continuous ?? true);
  return firstSeen;
}

test("a single bucket is seen since it has its start time and version", () => {
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 10)]]).single("x").sinceMs, 1);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 11)]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x", 10, 3)]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, [single("x")]]).single("x").sinceMs, 5);
  assert.equal(watching([1, [single("x", 10)]], [5, []], [9, [single("x", 10)]]).single("x").sinceMs, 9);
});

test("a single bucket is refreshed when the pod held another one before, single or packed", () => {
  const isRefreshed = (...seen: History): boolean => watching(...seen).single("x").isRefreshed ?? false;
  assert.equal(isRefreshed([1, [single("x", 10)]], [5, [single("x", 10)]]), false);
  assert.equal(isRefreshed([1, [single("x", 10)]], [5, [single("x", 10, 3)]]), true);
  assert.equal(isRefreshed([1, [single("x", 10)]], [5, [single("x", 10, 3)]], [9, [single("x", 10, 3)]]), true);
  assert.equal(isRefreshed([1, [single("x", 10)]], [5, []], [9, [single("x", 10)]]), false);
  assert.equal(isRefreshed([1, [packed(["x", "y"], 10)]], [5, [single("x", 10), packed(["y"], 10)]]), true);
  assert.equal(isRefreshed([1, [packed(["y"], 10)]], [5, [single("x", 10), packed(["y"], 10)]]), false);
  const restarted = watching([1, [single("x", 10)]], [5, [single("x", 10, 3)]]);
  restarted.restart(ms(7));
  assert.deepEqual([restarted.single("x").isRefreshed, restarted.single("x").sinceMs], [true, 7]);
});

test("a packed pod is seen since it moved into a packed bucket, also when the bucket takes in others", () => {
  const firstSeen = watching([1, [single("x", 10)]], [5, [packed(["x"], 10)]], [9, [packed(["x", "y"], 20)]]);
  assert.equal(firstSeen.packed(digestOfUID("x")).sinceMs, 5);
  assert.equal(firstSeen.packed(digestOfUID("y")).sinceMs, 9);
  firstSeen.observe([single("x", 10), packed(["y"], 20)], ms(12), true);
  assert.equal(firstSeen.single("x").sinceMs, 12);
});

test("a gap starts the waits of packed and anonymous pods again, not those of single ones", () => {
  const buckets = [single("x"), packed(["y"], 10), anonymous(3)];
  const firstSeen = watching([1, buckets], [5, buckets, false]);
  assert.deepEqual(
    [firstSeen.single("x").sinceMs, firstSeen.packed(digestOfUID("y")).sinceMs, firstSeen.anonymousSinceMs()],
    [1, 5, 5],
  );
});

test("an unseen exchange of anonymous admissions settles nothing early", () => {
  // Our settling write is lost, three others come in its place, and the next thing that is read has the same number.
  const firstSeen = watching([0, [anonymous(3)]], [80_000, [anonymous(3)], false]);
  assert.equal(firstSeen.anonymousMinimumSince(ms(5000)), 0);
});

test("what was never observed has not waited, and that does not change", () => {
  const firstSeen = new FirstSeen();
  assert.equal(firstSeen.single("x").sinceMs, Infinity);
  assert.equal(firstSeen.comparableSinceMs(firstSeen.single("x"), ms(7)), 7);
  assert.equal(firstSeen.comparableSinceMs(firstSeen.packed("0"), ms(9)), 9);
});

test("a bucket is comparable since the first question, until it changes", () => {
  const firstSeen = watching([1, [single("x", 10)]]);
  assert.equal(firstSeen.comparableSinceMs(firstSeen.single("x"), ms(4)), 4);
  firstSeen.observe([single("x", 10)], ms(6), true);
  assert.equal(firstSeen.comparableSinceMs(firstSeen.single("x"), ms(8)), 4);
  firstSeen.observe([single("x", 11)], ms(9), true);
  assert.equal(firstSeen.comparableSinceMs(firstSeen.single("x"), ms(12)), 12);
});

test("a restart of the waits makes everything as if first seen now", () => {
  const firstSeen = watching([1, [single("x", 10), packed(["y"], 10), anonymous(3)]]);
  firstSeen.comparableSinceMs(firstSeen.single("x"), ms(2));
  firstSeen.restart(ms(50));
  assert.deepEqual(
    [firstSeen.single("x").sinceMs, firstSeen.packed(digestOfUID("y")).sinceMs, firstSeen.anonymousSinceMs()],
    [50, 50, 50],
  );
  assert.equal(firstSeen.comparableSinceMs(firstSeen.single("x"), ms(60)), 60);
  firstSeen.observe([single("x", 10)], ms(70), true);
  assert.equal(firstSeen.single("x").sinceMs, 50);
});

test("the minimum of anonymous admissions is since a moment, and 0 from before it was known", () => {
  const firstSeen = watching([10, [anonymous(5)]], [20, [anonymous(9)]], [30, [anonymous(7)]]);
  assert.equal(firstSeen.anonymousMinimumSince(ms(9)), 0);
  // Two of the five have left: the oldest go first.
  assert.equal(firstSeen.anonymousMinimumSince(ms(10)), 3);
  assert.equal(firstSeen.anonymousMinimumSince(ms(20)), 7);
  assert.equal(firstSeen.anonymousCount(), 7);
});

test("constant traffic of anonymous admissions does not hold the oldest forever", () => {
  const firstSeen = new FirstSeen();
  let count = 0;
  for (let nowMs = 0; nowMs <= 200_000; nowMs += 1000) {
    count += 1;
    firstSeen.observe([anonymous(count)], ms(nowMs), true);
    const due = firstSeen.anonymousMinimumSince(ms(nowMs - 75_000));
    if (due > 0) {
      count -= due;
      firstSeen.observe(count === 0 ? [] : [anonymous(count)], ms(nowMs), true);
    }
    assert.ok(count <= 76, `${count} at ${nowMs}`);
  }
});

test("the next useful barrier for anonymous admissions settles more than the last one did", () => {
  const firstSeen = watching([10, [anonymous(5)]], [40, [anonymous(9)]]);
  assert.equal(firstSeen.anonymousRipeAtMs(100, longAgo), 110);
  assert.equal(firstSeen.anonymousRipeAtMs(100, ms(110)), 140);
});

test("beyond 1,024 changes of the anonymous number the oldest two are merged to the later time", () => {
  const firstSeen = new FirstSeen();
  for (let nowMs = 0; nowMs < 3000; nowMs += 1) firstSeen.observe([anonymous(nowMs + 1)], ms(nowMs), true);
  assert.equal(firstSeen.anonymousMinimumSince(ms(100)), 0);
  assert.equal(firstSeen.anonymousMinimumSince(ms(2500)), 2501 - 0);
  for (let fromMs = 0; fromMs < 3000; fromMs += 7) assert.ok(firstSeen.anonymousMinimumSince(ms(fromMs)) <= fromMs + 1);
});

test("nothing is remembered of anonymous admissions when the last one is gone", () => {
  const firstSeen = watching([10, [anonymous(5)]], [20, []], [30, [anonymous(2)]]);
  assert.equal(firstSeen.anonymousSinceMs(), 30);
  assert.equal(watching([10, [anonymous(5)]], [20, []]).anonymousSinceMs(), undefined);
});
