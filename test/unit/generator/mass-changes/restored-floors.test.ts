import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { RestoredFloors } from "../../../../src/generator/mass-changes/restored-floors.ts";
import { type InformerEvent } from "../../../../src/kube/informer.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { protector } from "./samples.ts";

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
