import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { flawOf } from "../../../../src/accounting/history/status-flaw.ts";

const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
const flaw = (...cells: readonly (readonly Bucket[])[]) =>
  flawOf({
    cells: cells.map((buckets, index) => ({ cellID: `c${index}`, admissionHistory: { buckets } })),
    summary,
  });
const buckets = (count: number): Bucket[] => Array.from({ length: count }, () => ({ startTime: "" }));

test("a flaw of a status is a cell that would count twice", () => {
  const twice = ["a", "a"].map((cellID) => ({ cellID }));
  assert.match(flawOf({ cells: twice, summary }) ?? "", /the cell "a" is there twice/);
});

test("a flaw of a status is more than 10,000 buckets over all cells", () => {
  assert.equal(flawOf(undefined), undefined);
  assert.equal(flaw(buckets(4_000), buckets(6_000)), undefined);
  assert.match(flaw(buckets(4_000), buckets(6_001)) ?? "", /more than 10000 buckets/);
});

test("a flaw of a status is more than 1.5 million characters of digests over all cells", () => {
  const packed = (length: number): Bucket => ({
    startTime: "",
    podUIDDigests: "A".repeat(length),
  });
  assert.equal(flaw([packed(700_000)], [packed(800_000)]), undefined);
  assert.match(flaw([packed(700_000)], [packed(800_001)]) ?? "", /characters of podUIDDigests/);
});
