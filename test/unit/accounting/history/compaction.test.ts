import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { bucketKind, totalWeight } from "../../../../src/accounting/history/bucket.ts";
import { compact, withoutDigests } from "../../../../src/accounting/history/compaction.ts";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { anonymous, evicted, packed, single, timeText } from "../samples.ts";

const none: ReadonlySet<string> = new Set();
const singles = (count: number, from = 0): Bucket[] =>
  Array.from({ length: count }, (_, index) => single(`p${from + index}`, 100 + from + index, from + index));
const digestsOf = (bucket: Bucket | undefined): string[] => {
  const kind = bucket === undefined ? undefined : bucketKind(bucket);
  return kind?.kind === "packed" ? kind.digests.list() : [];
};

test("up to the threshold nothing happens", () => {
  const buckets = singles(5);
  assert.equal(compact(buckets, 5, none), buckets);
});

test("beyond it the oldest are packed into one: sum, whole time span, highest version, every pod findable", () => {
  const buckets = singles(11).toReversed();
  const [pack, ...rest] = compact(buckets, 10, none);
  assert.deepEqual(pack, {
    startTime: timeText(0),
    endTime: timeText(8),
    counter: 9,
    podResourceVersion: "108",
    podUIDDigests: pack?.podUIDDigests,
  });
  assert.deepEqual(
    digestsOf(pack).toSorted(),
    Array.from({ length: 9 }, (_, index) => digestOfUID(`p${index}`)).toSorted(),
  );
  const uids = rest.map(({ podUID }) => podUID);
  assert.deepEqual(uids, ["p10", "p9"]);
});

test("a packed bucket takes in more, and several become one", () => {
  const result = compact([packed(["x", "y"], 500), ...singles(2), packed(["z"], 3)], 1, none);
  assert.equal(result.length, 1);
  assert.deepEqual([result[0]?.counter, result[0]?.podResourceVersion, digestsOf(result[0]).length], [5, "500", 5]);
});

test("evictions, buckets of Go webhooks and anonymous ones are never packed", () => {
  const others = [single("e1"), anonymous(4), evicted("e2", 7), { startTime: "" as const }];
  const result = compact([...others, ...singles(3)], 2, none);
  assert.deepEqual(result.slice(1), others);
  assert.equal(result[0]?.counter, 3);
  assert.equal(compact(others, 1, none), others);
});

test("many evictions do not make the few newest singles packed one by one", () => {
  const buckets = [...Array.from({ length: 90 }, (_, index) => single(`e${index}`)), ...singles(15)];
  assert.equal(compact(buckets, 100, none), buckets);
});

test("pods that this write took out stay single", () => {
  const result = compact([packed(["x", "y"], 5), ...singles(4)], 2, new Set(["p0"]));
  assert.deepEqual(
    result.map(({ podUID, counter }) => podUID ?? counter),
    [5, "p0"],
  );
});

test("the weight is conserved for every mix and threshold", () => {
  const pieces = [
    single("a", 3),
    single("b"),
    packed(["c", "d"], 9),
    anonymous(6),
    single("e", 12),
    { startTime: "" as const, counter: -1 },
  ];
  for (let mask = 0; mask < 64; mask += 1) {
    const buckets = pieces.filter((_, index) => (mask & (2 ** index)) !== 0);
    for (const threshold of [-1, 0, 1, 2, 3, 5]) {
      assert.equal(totalWeight(compact(buckets, threshold, none)), totalWeight(buckets));
    }
  }
});

test("malformed times count as the oldest and harm nothing", () => {
  const [pack] = compact([{ ...single("x", 5), startTime: "" as const }, single("y", 6, 9)], 1, none);
  assert.deepEqual([pack?.counter, pack?.endTime], [2, timeText(9)]);
});

test("pods are taken out of a packed bucket, and the last one takes the bucket with it", () => {
  const bucket = packed(["x", "y", "z"], 10);
  const digests = { list: () => digestsOf(bucket) };
  const rest = withoutDigests(bucket, digests, new Set([digestOfUID("y")]));
  assert.deepEqual(
    [rest?.counter, digestsOf(rest), rest?.podResourceVersion],
    [2, [digestOfUID("x"), digestOfUID("z")], "10"],
  );
  assert.equal(withoutDigests(bucket, digests, new Set(digestsOf(bucket))), undefined);
});
