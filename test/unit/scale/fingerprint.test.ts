import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintOf, hasSameScale } from "../../../src/scale/fingerprint.ts";

const object = (status: unknown, metadata: object = {}) =>
  fingerprintOf({ metadata: { uid: "u", generation: 1, resourceVersion: "7", ...metadata }, status });
const isSame = (before: unknown, now: unknown, selector = "app=a"): boolean =>
  hasSameScale(object(before), object(now), selector);

test("a heartbeat in the status changes no scale, once the selector is known", () => {
  assert.ok(isSame({ selector: "app=a", beat: "1", phase: "x" }, { selector: "app=a", beat: "2", extra: "new" }));
  assert.ok(isSame({ pods: { selector: "app=a" } }, { pods: { selector: "app=a", conditions: ["new"] } }));
});

test("another selector, another generation and another object may change the scale", () => {
  assert.ok(!isSame({ selector: "app=a" }, { selector: "app=b" }));
  assert.ok(!isSame({ selector: "app=a", copy: "app=a" }, { selector: "app=b", copy: "app=a" }));
  assert.ok(!isSame({ selector: "app=a" }, {}));
  const before = object({ selector: "app=a" });
  assert.ok(!hasSameScale(before, object({ selector: "app=a" }, { generation: 2 }), "app=a"));
  assert.ok(!hasSameScale(before, object({ selector: "app=a" }, { uid: "v" }), "app=a"));
});

test("while there is no selector, any text of the status may become it", () => {
  assert.ok(isSame({ replicas: 1 }, { replicas: 2 }, ""));
  assert.ok(!isSame({}, { labelSelector: "app=a" }, ""));
  assert.ok(!isSame({ phase: "x" }, { phase: "y" }, ""));
});

test("without a generation, or where a limit left something out, each version counts as a change", () => {
  const large = { texts: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`t${index}`, "x"])) };
  const long = { selector: "a".repeat(5_000) };
  const deep = { a: { b: { c: { d: { e: { selector: "app=a" } } } } } };
  for (const status of [large, long, deep]) {
    assert.ok(!hasSameScale(object(status), object(status, { resourceVersion: "8" }), "app=a"));
    assert.ok(hasSameScale(object(status), object(status), "app=a"));
  }
  const old = object({ selector: "app=a" }, { generation: undefined });
  assert.ok(
    !hasSameScale(old, object({ selector: "app=a" }, { generation: undefined, resourceVersion: "8" }), "app=a"),
  );
});
