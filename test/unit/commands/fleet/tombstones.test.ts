import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type ProtectorEvent } from "../../../../src/commands/fleet/refusals.ts";
import { seenTombstones } from "../../../../src/commands/fleet/tombstones.ts";
import { decodeGeneratorState } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const lost = (uid: string, lastAt: number, message = "It is gone from the core"): ProtectorEvent => ({
  protector: objectKey("shop", "web"),
  uid,
  reason: "PodProtectorLost",
  message,
  count: 1,
  lastAt: lastAt as EpochMicros,
  component: "podseidon-webhook",
});

const uids = (...of: Parameters<typeof seenTombstones>): readonly string[] =>
  seenTombstones(...of).map(({ uid }) => uid);

test("a PodProtector is a tombstone when webhooks say that it is gone, and it is neither there nor let go", () => {
  const other = { ...lost("b", 1), protector: objectKey("shop", "again") };
  const events = [lost("a", 1), other, lost("c", 1), { ...lost("d", 1), reason: "TooFewReplicas" }];
  const state = decodeGeneratorState({ data: { "uid.c": "torn down" } });
  // Another one under its name is in its place.
  const present = new Set([objectKey("shop", "again")]);
  assert.deepEqual(uids(events, present, state), ["a"]);
  assert.deepEqual(uids(events, present, undefined), ["a", "c"]);
  assert.deepEqual(uids(events, new Set(), state), ["a", "b"]);
});

test("the newest word of a webhook counts", () => {
  const ended = "It was gone from the core, and is no longer in force: it was deleted";
  assert.deepEqual(uids([lost("a", 1), lost("a", 2, ended)], new Set(), undefined), []);
  assert.deepEqual(uids([lost("a", 3), lost("a", 2, ended)], new Set(), undefined), ["a"]);
});

test("one that was made again, and then released, is no tombstone any more", () => {
  const release = { ...lost("b", 2, "Its floor of 3 is no longer in force: deleted in shop"), reason: "Released" };
  const released = { ...release, component: "podseidon-generator" };
  assert.deepEqual(uids([lost("a", 1), released], new Set(), undefined), []);
  assert.deepEqual(uids([lost("a", 3), released], new Set(), undefined), ["a"], "it was lost after that");
});
