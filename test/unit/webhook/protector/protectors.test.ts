import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { Protectors } from "../../../../src/webhook/protector/protectors.ts";
import { createTestCore } from "../support/core.ts";
import { FakeCells } from "../support/fake-cells.ts";
import { cell, type Json, protector } from "../support/objects.ts";

const tombstones = { stateNamespace: "podseidon-system", ttlMs: 0, onRaised() {}, onGone() {}, onUnread() {} };

let version = 1;
function versioned(object: Json, generation = 1): Json {
  const metadata = { ...(object["metadata"] as Json), resourceVersion: String(version++), generation };
  return { ...object, metadata };
}

function protectorsOver(objects: readonly Json[]) {
  const { clock, core, informer } = createTestCore();
  let unusable = 0;
  const protectors = new Protectors({
    core,
    logger: silentLogger,
    onCounted: () => {},
    onSooner: () => {},
    onUnusable: () => void unusable++,
    tombstones,
  });
  if (objects.length > 0) informer.sync(objects);
  const matching = (namespace: string, labels: Record<string, string>) =>
    protectors.matching(namespace, labels).map(({ key }) => key as string);
  /** Of those in force. */
  const get = (name: string) =>
    protectors.matching("ns", { app: "web", tier: "front" }).find(({ key }) => key === objectKey("ns", name));
  /** The watch shows what is left, and the webhook makes sure that the CRD is there. */
  const erase = async (...left: readonly Json[]): Promise<void> => {
    informer.sync(left);
    await clock.advance(20);
  };
  return { informer, protectors, matching, get, erase, unusable: () => unusable };
}

test("a pod is matched with the PodProtectors of its namespace that count its labels, in the order of names", () => {
  const { matching } = protectorsOver([
    versioned(protector({ name: "b" })),
    versioned(protector({ name: "a" })),
    versioned(protector({ name: "c", namespace: "other" })),
    versioned(protector({ name: "d", selector: { matchLabels: { app: "db" } } })),
  ]);
  assert.deepEqual(matching("ns", { app: "web", extra: "x" }), ["ns/a", "ns/b"]);
  assert.deepEqual(matching("nowhere", { app: "web" }), []);
});

test("a pod is matched by the counting selector", () => {
  const { matching } = protectorsOver([
    versioned(
      protector({ selector: { matchLabels: { app: "x" } }, aggregationSelector: { matchLabels: { app: "web" } } }),
    ),
  ]);
  assert.deepEqual(matching("ns", { app: "web" }), ["ns/web"]);
  assert.deepEqual(matching("ns", { app: "x" }), []);
});

test("edits of the selector, deletions and the generator's mark are followed", async () => {
  const { matching, informer, erase } = protectorsOver([versioned(protector())]);
  informer.sync([versioned(protector({ selector: { matchLabels: { app: "db" } } }), 2)]);
  assert.deepEqual(matching("ns", { app: "web" }), []);
  assert.deepEqual(matching("ns", { app: "db" }), ["ns/web"]);
  informer.sync([versioned(protector({ annotations: { [annotations.released]: "" } }), 3)]);
  assert.deepEqual(matching("ns", { app: "web" }), []);
  informer.sync([versioned(protector(), 4)]);
  assert.deepEqual(matching("ns", { app: "web" }), ["ns/web"]);
  await erase();
  assert.deepEqual(matching("ns", { app: "web" }), []);
});

test("what a PodProtector asked for before it became invalid stays in force, and is counted", () => {
  const { matching, informer, get, unusable } = protectorsOver([versioned(protector())]);
  const broken: Json[] = [
    protector({ selector: { matchExpressions: [{ key: "app", operator: "Near", values: ["web"] }] } }),
    protector({ selector: { matchExpressions: [{ key: "app", operator: "In" }] } }),
    { ...protector(), status: { cells: [{ cellID: 7 }] } },
    { ...protector(), spec: undefined },
  ];
  for (const [index, object] of broken.entries()) {
    informer.sync([versioned(object, index + 2)]);
    assert.equal(unusable(), index + 1);
    assert.deepEqual(matching("ns", { app: "web" }), ["ns/web"]);
    assert.equal(get("web")?.view?.protector.spec.minAvailable, 80);
  }
});

test("who still holds a deleted PodProtector takes nothing from the next one of that name", async () => {
  const { informer, get, matching, erase } = protectorsOver([versioned(protector())]);
  const deleted = get("web");
  await erase();
  informer.sync([versioned(protector(), 2)]);
  deleted?.hold();
  deleted?.release();
  assert.notEqual(deleted, get("web"));
  assert.deepEqual(matching("ns", { app: "web" }), ["ns/web"]);
});

/** PodProtectors over a core that tells by which other counters its cells were counted. */
function withCounters() {
  const cells = new FakeCells();
  const { core, informer } = createTestCore({ cells });
  const protectors = new Protectors({
    core,
    logger: silentLogger,
    onCounted: () => {},
    onSooner: () => {},
    onUnusable: () => {},
    tombstones,
  });
  return { cells, informer, protectors };
}

/** With counts of that second; an aggregator with heartbeats adds extensions to them. */
const counted = (second: number, extensions: Json = {}) =>
  versioned(
    protector({ cells: [cell("c1", 100, { lastEventTime: `2026-01-01T00:00:0${second}.000000Z`, ...extensions })] }),
  );

test("counts of another counter are seen between two states that follow each other, not across a list", () => {
  const { cells, informer, protectors } = withCounters();
  informer.sync([counted(1, { countedMinReadySeconds: 0 })]);
  // Unseen, the same counter has counted again, and somebody has dropped its fields.
  informer.show("ns/web", counted(2), true);
  assert.deepEqual(cells.countedByOthers, []);
  informer.show("ns/web", counted(3));
  assert.deepEqual(cells.countedByOthers, ["c1"]);
  assert.equal(protectors.size, 1);
});

test("an invalid state tells nothing of the counts, so the one after it shows no other counter", () => {
  const { cells, informer, protectors } = withCounters();
  informer.sync([counted(1, { countedMinReadySeconds: 0 })]);
  informer.show("ns/web", { ...counted(1, { countedMinReadySeconds: 0 }), spec: "nothing" });
  // Repaired by somebody who drops our fields.
  informer.show("ns/web", counted(1));
  assert.deepEqual(cells.countedByOthers, []);
  informer.show("ns/web", counted(2));
  assert.deepEqual(cells.countedByOthers, ["c1"]);
  assert.equal(protectors.size, 1);
});

test("a PodProtector that was never valid is found by what is valid of its selector", () => {
  const matchExpressions = [
    { key: "app", operator: "?" },
    { key: "tier", operator: "Exists" },
  ];
  const { matching, get, unusable } = protectorsOver([
    versioned(protector({ name: "a", selector: { matchExpressions } })),
    versioned(protector({ name: "b" })),
  ]);
  assert.equal(unusable(), 1);
  assert.match(get("a")?.unusable?.reason ?? "", /operator/);
  assert.deepEqual(matching("ns", { app: "web" }), ["ns/b"]);
  assert.deepEqual(matching("ns", { app: "web", tier: "front" }), ["ns/a", "ns/b"]);
});

test("a selector is compiled again only when the spec changed", () => {
  const { informer, get } = protectorsOver([versioned(protector())]);
  const compiled = get("web")?.view?.spec;
  informer.sync([versioned(protector({ cells: [] }))]);
  assert.equal(get("web")?.view?.spec, compiled);
  informer.sync([versioned(protector({ minReadySeconds: 5 }), 2)]);
  assert.notEqual(get("web")?.view?.spec.countedSpec, compiled?.countedSpec);
});

test("managedFields are not kept in memory", () => {
  const object = versioned(protector());
  (object["metadata"] as Json)["managedFields"] = [{ manager: "x" }];
  const { get } = protectorsOver([object]);
  assert.equal("managedFields" in (get("web")?.view?.protector.metadata ?? {}), false);
});

test("there are as many objects as PodProtectors, whatever happened to them", async () => {
  const { erase, protectors } = protectorsOver([versioned(protector({ name: "a" })), versioned(protector())]);
  assert.equal(protectors.size, 2);
  await erase(versioned({ ...protector(), spec: undefined }));
  assert.equal(protectors.size, 1, "an invalid one is there");
  await erase();
  assert.equal(protectors.size, 0);
});

test("an object that is in use outlives its PodProtector, and is the one of the next of that name", async () => {
  const { informer, protectors, get, erase } = protectorsOver([versioned(protector())]);
  const held = get("web") ?? assert.fail();
  held.hold();
  await erase();
  assert.equal(held.uid, undefined);
  informer.sync([versioned(protector({ uid: "uid-2" }))]);
  assert.equal(get("web"), held);
  assert.equal(get("web")?.uid, "uid-2");
  await erase();
  assert.equal(protectors.size, 1);
  held.release();
  assert.equal(protectors.size, 0);
});
