import assert from "node:assert/strict";
import { test } from "node:test";
import { formerFloorOf } from "../../../../../src/generator/mass-changes/floors/former-floor.ts";
import { deployment, protector, rule } from "../samples.ts";

test("the floor of the source as it was last in order is the former one, whatever the PodProtector says", () => {
  assert.equal(formerFloorOf(protector(100), deployment(0).spec, deployment(8).spec, rule), 6);
});

test("a floor that any rule makes of the present source was not changed by the source", () => {
  // One replica, protected by a former setting; seven, by upstream's rounding and by ours.
  assert.equal(formerFloorOf(protector(1), deployment(1).spec, undefined, rule), 0);
  assert.equal(formerFloorOf(protector(5), deployment(7).spec, undefined, rule), 6);
});

test("any other floor is what the source had", () => {
  assert.equal(formerFloorOf(protector(6), deployment(0).spec, undefined, rule), 6);
});
