import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { compileSelector, matches } from "../../../../src/label-index/index.ts";
import { flawOf, outlineOf } from "../../../../src/webhook/protector/unusable-protector.ts";

const selectorOf = (selector: unknown) => outlineOf({ spec: { selector } }).selector;

function selects(selector: unknown, labels: Record<string, string>): boolean {
  const compiled = compileSelector(selectorOf(selector));
  assert.ok(compiled.ok);
  return matches(compiled.selector, labels);
}

test("the outline of an invalid object selects by its valid requirements", () => {
  const selector = {
    matchLabels: { app: "web", odd: 7 },
    matchExpressions: [
      { key: "tier", operator: "In", values: ["front"] },
      { key: "app", operator: "Near", values: ["x"] },
      { key: "app", operator: "In" },
      { key: "app", operator: "In", values: [7] },
      { key: 7, operator: "Exists" },
      { key: "app", operator: "Exists", values: ["x"] },
      null,
      "text",
    ],
  };
  assert.equal(selects(selector, { app: "web", tier: "front" }), true);
  assert.equal(selects(selector, { app: "web", tier: "back" }), false);
  assert.equal(selects(selector, { app: "db", tier: "front" }), false);
});

test("the outline of an invalid object selects every pod when nothing is valid", () => {
  const odd = [undefined, null, 7, "app=web", ["app"], { matchLabels: ["web"] }, { matchExpressions: { key: "app" } }];
  for (const selector of odd) assert.equal(selects(selector, { any: "thing" }), true, JSON.stringify(selector));
  for (const raw of [
    undefined,
    null,
    7,
    [],
    {},
    { spec: null },
    { spec: [] },
    { metadata: 7, spec: { selector: 7 } },
  ]) {
    const marks = { maker: "person", isReleased: false, isTerminating: false, isDangling: false };
    assert.deepEqual(outlineOf(raw), { selector: { matchLabels: {}, matchExpressions: [] }, marks, isShadow: false });
  }
});

test("the outline of an invalid object keeps keys that mean something to JavaScript", () => {
  const matchLabels: unknown = JSON.parse('{"__proto__":"a","constructor":"b"}');
  assert.equal(
    selects({ matchLabels }, JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>),
    true,
  );
  assert.equal(selects({ matchLabels }, { app: "web" }), false);
});

test("the outline of an invalid object knows the generator's mark", () => {
  assert.equal(outlineOf({ metadata: { annotations: { [annotations.released]: "" } } }).marks.isReleased, true);
  assert.equal(outlineOf({ metadata: { annotations: { [annotations.mode]: "shadow" } } }).isShadow, true);
  assert.equal(outlineOf({ metadata: { annotations: [annotations.released] } }).marks.isReleased, false);
});

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
