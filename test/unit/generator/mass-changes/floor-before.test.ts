import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { floorBeforeOf, formatFloorBefore, isDeepFall } from "../../../../src/generator/mass-changes/floor-before.ts";
import { after, noon, protector } from "./samples.ts";

const withText = (text: string) => protector(1, { [annotations.floorBefore]: text });

test("the highest floor before is read as it was written, for ten minutes", () => {
  const text = formatFloorBefore({ highest: 8, at: noon });
  assert.equal(text, "8@2026-01-01T12:00:00Z");
  assert.deepEqual(floorBeforeOf(withText(text), after(600)), { highest: 8, at: noon });
  assert.equal(floorBeforeOf(withText(text), after(601)), undefined);
  assert.equal(floorBeforeOf(withText(text), after(-601)), undefined, "a clock that had run ahead");
});

test("what cannot be read was no floor", () => {
  for (const text of ["", "8", "x@2026-01-01T12:00:00Z", "8@yesterday", "-8@2026-01-01T12:00:00Z"])
    assert.equal(floorBeforeOf(withText(text), noon), undefined);
  assert.equal(floorBeforeOf(protector(1), noon), undefined);
});

test("a floor falls deep when it falls to 0 or to less than half", () => {
  const falls = [
    [8, 4],
    [8, 3],
    [1, 0],
    [0, 0],
    [7, 4],
    [7, 3],
  ] as const;
  assert.deepEqual(
    falls.map(([from, to]) => isDeepFall(from, to)),
    [false, true, true, false, false, true],
  );
});
