import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoredAnnotationText } from "../../../src/api/ignored-annotation.ts";

test("an ignored annotation is quoted, cut where it is long, with what is allowed", () => {
  const text = (value: string) => ignoredAnnotationText({ annotation: "a/b", value, allowed: "true" });
  assert.equal(text('"no'), 'Ignoring the annotation a/b="\\"no": it must be true');
  assert.equal(text("x".repeat(99)), `Ignoring the annotation a/b="${"x".repeat(64)}…": it must be true`);
  assert.equal(text("\u009b31m\u202eno"), 'Ignoring the annotation a/b="?31m?no": it must be true');
});
