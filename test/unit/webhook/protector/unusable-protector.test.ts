import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { compileSelector, matches } from "../../../../src/label-index/index.ts";
import { outlineOf } from "../../../../src/webhook/protector/unusable-protector.ts";

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
    const marks = { maker: "person", isReleased: false, isTerminating: false, isDangling: false, neverHadFloor: false };
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
