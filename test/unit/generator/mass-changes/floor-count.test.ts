import assert from "node:assert/strict";
import { test } from "node:test";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { FloorCount } from "../../../../src/generator/mass-changes/floor-count.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

class Annotations {
  [name: string]: string;
}

function countOf(minAvailable: readonly number[]) {
  const clock = createVirtualClock();
  const stored = minAvailable.map((floor, index) => ({
    uid: `u-${index}`,
    protector: { metadata: { annotations: new Annotations() }, spec: { minAvailable: floor } },
  }));
  const protectors = { values: () => (stored as unknown as StoredProtector[]).values() };
  return { clock, stored, floors: new FloorCount({ protectors, clock }) };
}

test("only PodProtectors with a floor above 0 are counted", () => {
  assert.equal(countOf([3, 0, 1]).floors.aboveZero(), 2);
});

test("what is marked as released has no floor, whoever marked it and however", () => {
  const { floors, stored } = countOf([3, 2, 1]);
  for (const { protector } of stored.slice(1)) protector.metadata.annotations["podseidon.kubewharf.io/released"] = "1";
  assert.equal(floors.aboveZero(), 1);
});

test("a floor that has passed is not counted for ten minutes, although the cache still shows it", async () => {
  const { floors, clock } = countOf([3, 2, 1]);
  assert.equal(floors.aboveZero(), 3);
  floors.passed("u-0");
  floors.passed("u-0");
  assert.equal(floors.aboveZero(), 2);
  await clock.advance(600_000);
  assert.equal(floors.aboveZero(), 2);
  await clock.advance(1_000);
  assert.equal(floors.aboveZero(), 3);
});

test("what has passed and is back counts at once when it is asked for again", () => {
  const { floors } = countOf([3, 2, 1]);
  floors.passed("u-0");
  assert.equal(floors.aboveZero(), 2);
  floors.back("u-0");
  floors.back("u-1");
  assert.equal(floors.aboveZero(), 3);
});

test("a new term knows of nothing that has passed", () => {
  const { floors } = countOf([3, 2, 1]);
  floors.passed("u-0");
  floors.clear();
  assert.equal(floors.aboveZero(), 3);
});

test("the number is counted again after a second", async () => {
  const { floors, stored, clock } = countOf([3, 2]);
  assert.equal(floors.aboveZero(), 2);
  stored.pop();
  await clock.advance(999);
  assert.equal(floors.aboveZero(), 2);
  await clock.advance(1);
  assert.equal(floors.aboveZero(), 1);
});

test("of those that are enforced, those in shadow are none", () => {
  const { floors, stored } = countOf([3, 2, 1]);
  for (const { protector } of stored.slice(1)) protector.metadata.annotations["podseidon.kubewharf.io/mode"] = "shadow";
  assert.deepEqual([floors.aboveZero(), floors.aboveZero(true)], [3, 1]);
  floors.passed("u-0");
  assert.deepEqual([floors.aboveZero(), floors.aboveZero(true)], [2, 0]);
});
