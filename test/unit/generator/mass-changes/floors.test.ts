import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { floorBeforeOf, formatFloorBefore, isDeepFall } from "../../../../src/generator/mass-changes/floor-before.ts";
import { after, noon, protector } from "./samples.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { FloorCount } from "../../../../src/generator/mass-changes/floor-count.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { RestoredFloors } from "../../../../src/generator/mass-changes/restored-floors.ts";
import { type InformerEvent } from "../../../../src/kube/informer.ts";

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

function start() {
  const clock = createVirtualClock();
  let deliver: (event: InformerEvent<StoredProtector>) => void = () => {};
  const informer = { subscribe: ({ onEvent }: { onEvent: typeof deliver }) => void (deliver = onEvent) };
  const restored = new RestoredFloors(informer as never, clock);
  const change = (previous: PodProtector, object: PodProtector): void =>
    deliver({ type: "modified", object: stored(object), previous: stored(previous) });
  const floorOf = (object: PodProtector) => {
    const [now, before] = [stored(object), restored.asBefore(stored(object))];
    assert.equal(restored.asBefore(now) === now, before.protector.spec.minAvailable === object.spec.minAvailable);
    return before.protector.spec.minAvailable;
  };
  return { clock, restored, floorOf, change, deliver: (event: InformerEvent<StoredProtector>) => deliver(event) };
}

function stored(object: PodProtector): StoredProtector {
  const read = readProtector(object);
  assert.ok(read.ok);
  return read.stored;
}

function version(minAvailable: number, generation: number, uid = "p"): PodProtector {
  const object = protector(minAvailable);
  return { ...object, metadata: { ...object.metadata, uid, generation } };
}

test("a floor that falls with the generation fell by a restore, and the highest before it is remembered", () => {
  const { floorOf, change } = start();
  change(version(6, 9), version(3, 7));
  assert.equal(floorOf(version(3, 7)), 6);
  change(version(3, 7), version(1, 2));
  assert.equal(floorOf(version(1, 2)), 6);
});

test("an edit that lowers the floor is no restore, and neither is an older state with the same floor", () => {
  const { floorOf, change } = start();
  change(version(6, 9), version(3, 10));
  assert.equal(floorOf(version(3, 10)), 3);
  change(version(6, 9), version(6, 7));
  assert.equal(floorOf(version(6, 7)), 6);
});

test("it is over when the floor is back, the object is gone or another one, or the lower floor is in force", () => {
  const { restored, floorOf, change, deliver } = start();
  const [before, after] = [version(6, 9), version(1, 2)];
  change(before, after);
  assert.equal(floorOf(version(1, 2, "another")), 1);
  change(after, version(6, 3));
  assert.equal(floorOf(after), 1);
  change(before, after);
  deliver({ type: "deleted", object: stored(after) });
  assert.equal(floorOf(after), 1);
  change(before, after);
  restored.forget(after);
  assert.equal(floorOf(after), 1);
});

test("a new term knows what was restored within the last ten minutes", async () => {
  const { clock, restored, floorOf, change } = start();
  change(version(6, 9), version(1, 2));
  await clock.advance(600_000);
  restored.forgetOld();
  assert.equal(floorOf(version(1, 2)), 6);
  await clock.advance(1);
  restored.forgetOld();
  assert.equal(floorOf(version(1, 2)), 1);
});
