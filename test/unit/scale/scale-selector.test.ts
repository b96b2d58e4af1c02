import assert from "node:assert/strict";
import { test } from "node:test";
import { readScaleSelector } from "../../../src/scale/scale-selector.ts";

test("single values become matchLabels, and the rest expressions", () => {
  assert.deepEqual(readScaleSelector("app=web,tier==db"), {
    ok: true,
    selector: { matchLabels: { app: "web", tier: "db" } },
  });
  assert.deepEqual(readScaleSelector("app=web,zone in (a,b),!old"), {
    ok: true,
    selector: {
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "zone", operator: "In", values: ["a", "b"] },
        { key: "old", operator: "DoesNotExist" },
      ],
    },
  });
});

test("two values of one key stay two requirements", () => {
  assert.deepEqual(readScaleSelector("app=a,app=b"), {
    ok: true,
    selector: { matchLabels: { app: "a" }, matchExpressions: [{ key: "app", operator: "In", values: ["b"] }] },
  });
});

test("a selector that selects everything, or that nobody can read, is refused with the reason", () => {
  assert.deepEqual(readScaleSelector(" "), { ok: false, reason: "it is empty" });
  const read = readScaleSelector("app=web=db");
  assert.match(read.ok ? "" : read.reason, /"app=web=db" is not a label selector/);
});
