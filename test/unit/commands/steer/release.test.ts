import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { byHandKeyOf, generatorStateName } from "../../../../src/kube/generator-state.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type JsonObject } from "../../../double/index.ts";
import { createFleet, createProtector, createRefusal, type Fleet, systemNamespace } from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const dangling = { type: "Dangling", status: "True", reason: "Test", lastTransitionTime: "2026-01-01T00:00:00Z" };

const uid = "11111111-2222-3333-4444-555555555555";
const gone = { name: "gone", uid, count: 3, reason: "PodProtectorLost", message: "It is gone from the core without" };

function dataIn({ core }: Fleet): Readonly<Record<string, unknown>> | undefined {
  const stored = core.engine.find(builtInResources.configMaps, systemNamespace, generatorStateName);
  return stored?.["data"] as Readonly<Record<string, unknown>> | undefined;
}

test("release lists what dangles, and what is gone and kept in force", async (t) => {
  const fleet = await createFleet();
  await shown(t, fleet, "release");
  await createProtector(fleet.core, "web", { conditions: [{ type: "Dangling" }] });
  await createProtector(fleet.core, "well");
  await createRefusal(fleet, { ...gone, agoMs: 120_000 });
  await shown(t, fleet, "release");
});

test("release marks a dangling PodProtector, and nothing else", async (t) => {
  const fleet = await createFleet();
  const { core } = fleet;
  await createProtector(core, "web", { conditions: [{ type: "Dangling" }] });
  await createProtector(core, "well");
  await shown(t, fleet, "release", "shop/web");
  const { metadata } = core.engine.get(core.protectors, "shop", "web");
  assert.equal(metadata.annotations?.[annotations.released], "true");
  await shown(t, fleet, "release", "well", "-n", "shop");
  assert.equal(core.client.writes.length, 1);
});

test("release holds for what was looked at: a busy one is read again, and one whose source is back stays", async () => {
  for (const isBack of [false, true]) {
    const fleet = await createFleet();
    const { client, engine, protectors } = fleet.core;
    await createProtector(fleet.core, "web", { conditions: [{ type: "Dangling" }] });
    client.onWrite = async (index) => {
      if (index > 2) return undefined;
      const present = engine.get(protectors, "shop", "web");
      const conditions = isBack ? [] : [{ ...dangling, message: `write ${index}` }];
      const status = { ...(present["status"] as JsonObject), conditions };
      await engine.update(protectors, "shop", "web", { ...present, status }, { subresource: "status" });
      return undefined;
    };
    const { exitCode, problem = "" } = await fleet.run("release", "shop/web");
    const { metadata } = engine.get(protectors, "shop", "web");
    assert.equal(metadata.annotations?.[annotations.released], isBack ? undefined : "true");
    assert.deepEqual([exitCode, /does not dangle/.test(problem)], isBack ? [1, true] : [0, false]);
  }
});

test("release of one that is gone by then says so", async () => {
  const fleet = await createFleet();
  const { client, engine, protectors } = fleet.core;
  await createProtector(fleet.core, "web", { conditions: [{ type: "Dangling" }] });
  client.onWrite = () => {
    engine.erase(protectors, "shop", "web");
    return new KubeError("conflict", "scripted");
  };
  const { exitCode, problem = "" } = await fleet.run("release", "shop/web");
  assert.equal(exitCode, 1);
  assert.match(problem, /is gone by now/);
});

test("release lets a held deletion pass, and no change of a floor", async (t) => {
  const fleet = await createFleet();
  const { core } = fleet;
  const release = "Deployment web asks to release its floor of 3, and too many";
  const lower = "Deployment api asks for a floor of 0 instead of 3, and too many";
  await createProtector(core, "web", { conditions: [{ type: "ChangeHeld", message: release }] });
  await createProtector(core, "api", { conditions: [{ type: "ChangeHeld", message: lower }] });
  await shown(t, fleet, "release", "shop/web");
  await shown(t, fleet, "release", "shop/api");
});

test("release lets a vanished PodProtector go by its UID, and --undo takes that back", async (t) => {
  const fleet = await createFleet();
  await createRefusal(fleet, { ...gone, agoMs: 1_000 });
  await shown(t, fleet, "release", uid, "--reason", "torn down");
  assert.deepEqual(dataIn(fleet), { [byHandKeyOf(uid)]: "torn down" });
  await shown(t, fleet, "release");
  await shown(t, fleet, "release", uid, "--undo");
  assert.deepEqual(dataIn(fleet) ?? {}, {});
  // The ConfigMap is there by now.
  await shown(t, fleet, "release", uid);
  assert.deepEqual(dataIn(fleet), { [byHandKeyOf(uid)]: "released by hand" });
});

test("release of something that is not known says what it looked for", async (t) => {
  const fleet = await createFleet();
  const unknown = await shown(t, fleet, "release", "shop/nothing");
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.problem ?? "", /^there is no PodProtector "shop\/nothing", and no Event says/);
  await shown(t, fleet, "release", "web", "--undo");
  await createRefusal(fleet, { ...gone, agoMs: 3_000 });
  await createRefusal(fleet, { ...gone, uid: uid.replace("1111", "9999"), agoMs: 2_000 });
  await shown(t, fleet, "release", "shop/gone");
});

test("release by a name touches nothing that an Event alone names, whoever wrote it", async () => {
  const fleet = await createFleet();
  const { core } = fleet;
  const dangles = await createProtector(core, "deployment-lost", { conditions: [{ type: "Dangling" }] });
  await createRefusal(fleet, { ...gone, uid: dangles.metadata.uid, agoMs: 1_000 });
  const { exitCode, problem = "", stdout } = await fleet.run("release", "shop/gone");
  assert.equal(exitCode, 1);
  assert.match(problem, /anybody who writes Events can say so/);
  assert.equal(stdout, "");
  assert.deepEqual(core.client.writes, []);
  assert.equal(dataIn(fleet), undefined);
});

test("release of a vanished one in several cores needs no --core where one knows of it", async (t) => {
  const fleet = await createFleet("other");
  await createRefusal(fleet, { ...gone, agoMs: 1_000 });
  const cores = ["--core", "a=core", "--core", "b=other"];
  await shown(t, fleet, "release", uid, ...cores);
  const unknown = await shown(t, fleet, "release", uid.replace("1111", "9999"), ...cores);
  assert.deepEqual([unknown.exitCode, unknown.problem], [1, "in which core? Say one --core"]);
});
