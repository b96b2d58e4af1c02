import assert from "node:assert/strict";
import { test } from "node:test";
import { FloorNumber } from "../../../../src/generator/mass-changes/floor-number.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { protector } from "./samples.ts";

test("floors above 0 are counted anew after a second", async () => {
  const clock = createVirtualClock();
  const floors = [0, 1, 7];
  const protectors = { values: () => floors.map((floor) => ({ protector: protector(floor) })).values() };
  const number = new FloorNumber(protectors as never, clock);
  assert.equal(number.aboveZero(), 2);
  floors.push(3);
  assert.equal(number.aboveZero(), 2);
  await clock.advance(1_000);
  assert.equal(number.aboveZero(), 3);
});
