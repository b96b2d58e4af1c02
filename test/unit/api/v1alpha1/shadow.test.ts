import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { isInShadow } from "../../../../src/api/v1alpha1/shadow.ts";

test("only the value shadow takes a PodProtector out of force, whatever else its metadata is", () => {
  assert.equal(isInShadow({ annotations: { [annotations.mode]: "shadow" } }), true);
  for (const value of ["Shadow", "off", "", 1, null, ["shadow"]])
    assert.equal(isInShadow({ annotations: { [annotations.mode]: value } }), false);
  for (const metadata of [undefined, null, "shadow", {}, { annotations: "shadow" }])
    assert.equal(isInShadow(metadata), false);
});
