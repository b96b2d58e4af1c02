import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Fill,
  filledBy,
  fillOf,
  isOverfull,
  statusBucketsMax,
  statusBytesMax,
} from "../../../../src/accounting/history/status-room.ts";
import { type Disruption } from "../../../../src/accounting/reserve/disruption.ts";
import { reserve, type Verdict } from "../../../../src/accounting/reserve/reservation.ts";
import { cell, context, counts, disruption, packed, protector, single, version } from "../samples.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

test("a status is measured as it is stored, in bytes of JSON, with the buckets of all cells", () => {
  const cells = [cell(counts(3), [single("ü"), single("b")], "a"), cell(undefined, [packed(["c", "d"], 5)], "b")];
  const { status } = protector(1, cells);
  assert.deepEqual(fillOf(status), { bytes: bytesOf(status), buckets: 3 });
  assert.deepEqual(fillOf(undefined), { bytes: 0, buckets: 0 });
});

test("what is recorded is never larger than it was taken for", () => {
  for (const cells of [
    [cell(counts(3))],
    [cell(counts(3), [single("q"), single("x", 10)])],
    [cell(counts(30), [packed(["x", "y", "z"], 10)])],
  ]) {
    const before = protector(1, cells);
    for (const changes of [{}, { operation: "evict" as const }, { as: { resourceVersion: version("9".repeat(16)) } }]) {
      const { status } = reserve(before, [disruption("x", changes)], context());
      const taken = filledBy(fillOf(before.status), single("x", "9".repeat(16)));
      // The field that holds the first bucket of a cell, and figures of the summary that have more digits now.
      assert.ok(fillOf(status).bytes <= taken.bytes + 40, JSON.stringify(status));
    }
  }
});

test("a status is full at one MiB, or at 10,000 buckets", () => {
  assert.equal(isOverfull({ bytes: statusBytesMax, buckets: statusBucketsMax }), false);
  assert.equal(isOverfull({ bytes: statusBytesMax + 1, buckets: 0 }), true);
  assert.equal(isOverfull({ bytes: 0, buckets: statusBucketsMax + 1 }), true);
  assert.equal(isOverfull({ bytes: 1_001, buckets: 0 }, 1_000), true);
});

const kindsOf = (wishes: readonly Disruption[], fill: Fill): string[] => {
  const cells = [cell(counts(100), [single("single", 10), packed(["packed", "other"], 10)])];
  return reserve(protector(1, cells), wishes, context({ fill })).verdicts.map(kindOf);
};
const kindOf = (verdict: Verdict): string => {
  if (verdict.kind === "retry") return verdict.cause;
  return verdict.kind === "admitted" ? (verdict.leftOut ?? "admitted") : verdict.kind;
};

test("a full status takes no admission, whatever its cells would hold; forced ones go without a record", () => {
  const full = { bytes: statusBytesMax, buckets: 5 };
  assert.deepEqual(kindsOf([disruption("x"), disruption("x", { operation: "evict" })], full), [
    "full-status",
    "full-status",
  ]);
  assert.deepEqual(kindsOf([disruption("x", { isForced: true })], full), ["full-buffer"]);
  assert.deepEqual(kindsOf([disruption("x")], { bytes: 0, buckets: statusBucketsMax }), ["full-status"]);
});

test("a full status takes a repeated review of a single bucket, but takes no pod out of a pack", () => {
  const full = { bytes: statusBytesMax, buckets: statusBucketsMax };
  assert.deepEqual(kindsOf([disruption("single"), disruption("packed")], full), ["admitted", "full-status"]);
});

test("a batch fills the status deletion by deletion", () => {
  const room = 2 * (bytesOf(single("pod-1", 10)) + 1);
  const wishes = ["pod-1", "pod-2", "pod-3"].map((uid) => disruption(uid));
  const verdicts = kindsOf(wishes, { bytes: statusBytesMax - room, buckets: 0 });
  assert.deepEqual(verdicts, ["admitted", "admitted", "full-status"]);
});
