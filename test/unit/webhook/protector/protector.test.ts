import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { Protector } from "../../../../src/webhook/protector/protector.ts";
import { createTestCore } from "../support/core.ts";
import { cell } from "../support/objects.ts";
import { deletionOf, protectorView } from "../support/views.ts";

function createProtector() {
  const { clock, core } = createTestCore();
  const unused: string[] = [];
  const protector = new Protector(core, objectKey("ns", "web"), ({ key }) => unused.push(key));
  return { clock, core, protector, unused };
}

const roomy = (version: number) => protectorView({ cells: [cell("c1", 100)] }, version);

test("a PodProtector is unused when it is gone and nothing holds it", () => {
  const { protector, unused } = createProtector();
  protector.watched(roomy(1));
  protector.hold();
  protector.hold();
  protector.removed();
  protector.release();
  assert.deepEqual(unused, []);
  protector.release();
  assert.deepEqual(unused, ["ns/web"]);
});

test("a PodProtector that came back while it was held is not unused", () => {
  const { protector, unused } = createProtector();
  protector.watched(roomy(1));
  protector.hold();
  protector.removed();
  protector.rejected({ uid: "uid-2", reason: "why", isShadow: false });
  protector.release();
  assert.deepEqual(unused, []);
});

test("an invalid state is remembered with its reason, beside the last valid one, until a valid one comes", () => {
  const { protector } = createProtector();
  protector.watched(roomy(1));
  protector.rejected({ uid: "uid-2", reason: "why", isShadow: false });
  assert.deepEqual(protector.unusable, { uid: "uid-2", reason: "why", isShadow: false });
  assert.equal(protector.uid, "uid-2");
  assert.equal(protector.view?.resourceVersion, "1");
  protector.watched(roomy(2));
  assert.equal(protector.unusable, undefined);
  assert.equal(protector.uid, "uid-of-web");
});

test("everything about an object is forgotten when another one takes its name", () => {
  const { protector } = createProtector();
  protector.watched(roomy(50));
  protector.lostAnswer();
  assert.equal(protector.isDoubtful, true);
  protector.watched(protectorView({ uid: "uid-2" }, 40));
  assert.equal(protector.isDoubtful, false);
  assert.equal(protector.view?.resourceVersion, "40");
});

test("nothing can be done with a PodProtector that is gone", () => {
  const { protector } = createProtector();
  assert.equal(protector.isDoubtful, false);
  assert.equal(protector.suspect(), false);
  assert.equal(protector.notRead(), false);
  assert.equal(protector.readLive(roomy(2), roomy(1)), false);
  assert.equal(protector.conflicted(roomy(1)), 1);
  assert.equal(protector.canAdmitOnLastKnown, false);
  assert.equal(protector.writeDelayMs(), 0);
});

test("deletions are admitted on the last known quota only after the core has taken a write", () => {
  const { core, protector } = createProtector();
  protector.watched(roomy(1));
  assert.equal(protector.canAdmitOnLastKnown, false);
  protector.watched(roomy(1));
  assert.equal(core.hasSeenWrites, false, "a repeated state is no write");
  protector.watched(roomy(2));
  assert.equal(protector.canAdmitOnLastKnown, true);
  protector.conflicted(roomy(1));
  assert.equal(protector.canAdmitOnLastKnown, true, "the newest state explains the conflict");
});

test("deletions are not admitted on the last known quota of a state that somebody else has changed since", () => {
  const { protector } = createProtector();
  protector.watched(roomy(1));
  const base = roomy(2);
  protector.watched(base);
  protector.conflicted(base);
  assert.equal(protector.canAdmitOnLastKnown, false);
});

test("what was admitted without a write is remembered until it is recorded", () => {
  const { protector } = createProtector();
  protector.watched(roomy(1));
  const verdicts = protector.admitOnLastKnown([deletionOf("p"), deletionOf("q")]);
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ["admitted", "admitted"],
  );
  assert.equal(protector.unrecorded.length, 2);
  protector.recorded();
  assert.deepEqual(protector.unrecorded, []);
});

test("a PodProtector waits for its own bytes, and gathers after a batch of several", () => {
  const { protector } = createProtector();
  const first = roomy(1);
  protector.watched(first);
  assert.equal(protector.delivered("2" as ResourceVersion, []), false, "no turns before the first own write");
  protector.charge(4_000);
  assert.equal(protector.writeDelayMs(), 2);
  assert.equal(protector.gathering().mostMs, 0);
  protector.wrote(roomy(3), 10, 2);
  assert.equal(protector.writeDelayMs(), 20, "and until its watch shows that write, and others have had their time");
  assert.equal(protector.delivered("3" as ResourceVersion, []), true);
  assert.equal(protector.writeDelayMs(), 10, "the others' time alone");
  assert.equal(protector.gathering().mostMs, 10);
  assert.equal(protector.expectedWriteMs(), 20);
  assert.equal(protector.delivered("4" as ResourceVersion, []), true);
});
