import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { NewestStates } from "../../../../src/webhook/protector/newest-states.ts";
import { createProtectorDirectory } from "../../../../src/webhook/protector/protector-directory.ts";
import { FakeInformer } from "../support/fake-informer.ts";
import { type Json, protector } from "../support/objects.ts";

let version = 1;
function versioned(object: Json, generation = 1): Json {
  const metadata = { ...(object["metadata"] as Json), resourceVersion: String(version++), generation };
  return { ...object, metadata };
}

function directoryOver(objects: readonly Json[]) {
  const informer = new FakeInformer();
  const states = new NewestStates();
  let unusable = 0;
  const watched: string[] = [];
  const onUnusable = (): void => void unusable++;
  const isUnreadyWhenSilent = true;
  const directory = createProtectorDirectory({
    core: "core",
    informer,
    states,
    logger: silentLogger,
    isUnreadyWhenSilent,
    onWatched: ({ key, resourceVersion }) => watched.push(`${key}@${resourceVersion}`),
    onUnusable,
  });
  if (objects.length > 0) informer.sync(objects);
  return { informer, states, directory, watched, unusable: () => unusable };
}

describe("protector directory", () => {
  it("finds the PodProtectors of the namespace that count the labels, in the order of names", () => {
    const { directory } = directoryOver([
      versioned(protector({ name: "b" })),
      versioned(protector({ name: "a" })),
      versioned(protector({ name: "c", namespace: "other" })),
      versioned(protector({ name: "d", selector: { matchLabels: { app: "db" } } })),
    ]);
    assert.deepEqual(directory.matching("ns", { app: "web", extra: "x" }), ["ns/a", "ns/b"]);
    assert.deepEqual(directory.matching("nowhere", { app: "web" }), []);
  });

  it("tells of each version that the watch delivers", () => {
    const object = protector({ name: "a" });
    const { informer, watched } = directoryOver([versioned(object)]);
    informer.sync([versioned(object)]);
    assert.deepEqual(watched, [`ns/a@${version - 2}`, `ns/a@${version - 1}`]);
  });

  it("goes by the counting selector", () => {
    const { directory } = directoryOver([
      versioned(
        protector({ selector: { matchLabels: { app: "x" } }, aggregationSelector: { matchLabels: { app: "web" } } }),
      ),
    ]);
    assert.deepEqual(directory.matching("ns", { app: "web" }), ["ns/web"]);
    assert.deepEqual(directory.matching("ns", { app: "x" }), []);
  });

  it("is synced only when the handlers have processed the whole list", () => {
    const { directory, informer } = directoryOver([]);
    assert.equal(directory.isSynced(), false);
    informer.error = "cannot list podprotectors: 403";
    assert.match(directory.unreadyReason() ?? "", /not synced yet: cannot list podprotectors: 403/);
    informer.sync([]);
    assert.equal(directory.isSynced(), true);
    assert.equal(directory.unreadyReason(), undefined);
  });

  it("follows edits of the selector, deletions, and the generator's mark", () => {
    const { directory, informer } = directoryOver([versioned(protector())]);
    informer.sync([versioned(protector({ selector: { matchLabels: { app: "db" } } }), 2)]);
    assert.deepEqual(directory.matching("ns", { app: "web" }), []);
    assert.deepEqual(directory.matching("ns", { app: "db" }), ["ns/web"]);
    informer.sync([versioned(protector({ annotations: { [annotations.released]: "" } }), 3)]);
    assert.deepEqual(directory.matching("ns", { app: "web" }), []);
    informer.sync([versioned(protector(), 4)]);
    assert.deepEqual(directory.matching("ns", { app: "web" }), ["ns/web"]);
    informer.sync([]);
    assert.deepEqual(directory.matching("ns", { app: "web" }), []);
  });

  it("keeps in force what a PodProtector asked for before it became unusable, and counts that", () => {
    const { directory, informer, states, unusable } = directoryOver([versioned(protector())]);
    const broken: Json[] = [
      protector({ selector: { matchExpressions: [{ key: "app", operator: "Near", values: ["web"] }] } }),
      protector({ selector: { matchExpressions: [{ key: "app", operator: "In" }] } }),
      { ...protector(), status: { cells: [{ cellID: 7 }] } },
      { ...protector(), spec: undefined },
    ];
    for (const [index, object] of broken.entries()) {
      informer.sync([versioned(object, index + 2)]);
      assert.equal(unusable(), index + 1);
      assert.deepEqual(directory.matching("ns", { app: "web" }), ["ns/web"]);
      assert.equal(states.get("ns/web")?.protector.spec.minAvailable, 80);
    }
  });

  it("finds one that was never understood by what of its selector can be", () => {
    const matchExpressions = [
      { key: "app", operator: "?" },
      { key: "tier", operator: "Exists" },
    ];
    const { directory, states, unusable } = directoryOver([
      versioned(protector({ name: "a", selector: { matchExpressions } })),
      versioned(protector({ name: "b" })),
    ]);
    assert.equal(unusable(), 1);
    assert.match(states.unusable("ns/a")?.reason ?? "", /operator/);
    assert.deepEqual(directory.matching("ns", { app: "web" }), ["ns/b"]);
    assert.deepEqual(directory.matching("ns", { app: "web", tier: "front" }), ["ns/a", "ns/b"]);
  });

  it("says how long the watch has been silent", () => {
    const { directory, informer } = directoryOver([versioned(protector())]);
    informer.silence = 7_000;
    assert.equal(directory.silentMs(), 7_000);
    informer.error = "cannot watch podprotectors: connection refused";
    assert.equal(directory.silentMs(), Infinity);
  });

  it("is unready after five minutes of silence", () => {
    const { directory, informer } = directoryOver([versioned(protector())]);
    informer.silence = 300_000;
    assert.equal(directory.unreadyReason(), undefined);
    informer.silence = 300_001;
    assert.match(directory.unreadyReason() ?? "", /nothing heard from core/);
  });

  it("recompiles a selector only when the generation says that the spec changed", () => {
    const { informer, states } = directoryOver([versioned(protector())]);
    const compiled = states.get("ns/web")?.spec;
    informer.sync([versioned(protector({ cells: [] }))]);
    assert.equal(states.get("ns/web")?.spec, compiled);
    informer.sync([versioned(protector({ minReadySeconds: 5 }), 2)]);
    assert.notEqual(states.get("ns/web")?.spec.countedSpec, compiled?.countedSpec);
  });

  it("does not keep managedFields in memory", () => {
    const object = versioned(protector());
    (object["metadata"] as Json)["managedFields"] = [{ manager: "x" }];
    const { states } = directoryOver([object]);
    assert.equal("managedFields" in (states.get("ns/web")?.protector.metadata ?? {}), false);
  });
});
