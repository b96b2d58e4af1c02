import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { ProtectorMemories } from "../../../../src/aggregator/counting/protector-memories.ts";
import { type StoredProtector } from "../../../../src/kube/resources.ts";
import { at } from "../../../support/moment.ts";
import { marks } from "../../accounting/samples.ts";
import { storedProtector } from "../protectors.ts";

function released(stored: StoredProtector): StoredProtector {
  const { protector } = stored;
  const metadata = { ...protector.metadata, annotations: { [annotations.released]: "" } };
  return { ...stored, protector: { ...protector, metadata } };
}

const another = storedProtector(3, { uid: "other" });
const remembered = (): ProtectorMemories => new ProtectorMemories({ cellID: "cell-1", marks });

/** It appears: since when what was admitted on another one of its name is waited for; undefined = it is not. */
function appeared(memories: ProtectorMemories, object: StoredProtector, nowMs: number): number | undefined {
  assert.equal(memories.watched({ type: "added", object }, "selector", at(nowMs)), false);
  const settleWindowMs = 1_000_000;
  const fromMs = memories.get(object.key)!.countableFromMs(settleWindowMs, at(nowMs))!;
  return fromMs === nowMs ? undefined : fromMs - settleWindowMs;
}

test("a PodProtector is made again when another one of its name vanished without a release", () => {
  const memories = remembered();
  assert.equal(appeared(memories, storedProtector(2), 1), undefined);
  memories.left(storedProtector(2), undefined);
  assert.equal(memories.size, 0);
  assert.equal(appeared(memories, another, 2), 2);
  assert.equal(appeared(memories, another, 3), 2, "known since");
});

test("a PodProtector that was seen deleted and is made again waits since then, and not days later once more", () => {
  const memories = remembered();
  memories.left(storedProtector(2), at(1));
  assert.equal(appeared(memories, another, 200_000), 1);
});

test("a PodProtector that comes back is not made again, nor one after a release", () => {
  const memories = remembered();
  memories.left(storedProtector(2), at(1));
  assert.equal(appeared(memories, storedProtector(1), 2), undefined);
  memories.left(released(storedProtector(2)), at(3));
  assert.equal(appeared(memories, another, 4), undefined);
});

test("an object that takes the name of a younger one comes from a backup: the core was restored", () => {
  const born = (stored: StoredProtector, creationTimestamp: string): StoredProtector => ({
    ...stored,
    protector: { ...stored.protector, metadata: { ...stored.protector.metadata, creationTimestamp } },
  });
  const restoredSinceMs = (time: string): number | undefined => {
    const memories = remembered();
    memories.left(born(storedProtector(2), "2026-01-01T01:00:00Z"), undefined);
    appeared(memories, born(another, time), 7);
    return memories.get(another.key)?.restoredSinceMs;
  };
  assert.equal(restoredSinceMs("2026-01-01T00:00:00Z"), 7);
  assert.equal(restoredSinceMs("2026-01-01T01:00:01Z"), undefined, "it was made again");
});

test("a version below the one before means that the core was restored", () => {
  const memories = remembered();
  appeared(memories, storedProtector(9), 1);
  const back = { type: "modified", object: storedProtector(8), previous: storedProtector(9) } as const;
  assert.equal(memories.watched(back, "selector", at(2)), true);
  assert.equal(memories.get(back.object.key)?.restoredSinceMs, 2);
});

test("a PodProtector matches nothing when it has a floor and no cell has pods for it", () => {
  const found = (minAvailable: number, totalReplicas: number | undefined, countsNone: boolean): boolean => {
    const stored = storedProtector(1);
    const { status, ...rest } = stored.protector;
    const written = totalReplicas !== undefined && {
      status: { ...status!, summary: { ...status!.summary, totalReplicas } },
    };
    const memories = remembered();
    const protector = { ...rest, spec: { ...rest.spec, minAvailable }, ...written };
    memories.watched({ type: "added", object: { ...stored, protector } }, "selector", at(0));
    return [...memories.matchingNothing(() => countsNone)].length === 1;
  };
  assert.equal(found(1, undefined, true), true);
  assert.equal(found(1, 0, true), true);
  assert.equal(found(1, 2, true), false, "another cell has pods");
  assert.equal(found(1, 0, false), false, "this one has, and has not written it yet");
  assert.equal(found(0, 0, true), false, "scaled to 0");
});
