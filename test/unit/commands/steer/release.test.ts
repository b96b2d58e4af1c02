import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { byHandKeyOf, generatorStateName } from "../../../../src/kube/generator-state.ts";
import { builtInResources } from "../../../double/index.ts";
import { createFleet, createProtector, createRefusal, type Fleet, systemNamespace } from "../support/fleet.ts";

const uid = "11111111-2222-3333-4444-555555555555";
const gone = { name: "gone", uid, count: 3, reason: "PodProtectorLost", message: "It is gone from the core without" };

function dataIn({ core }: Fleet): Readonly<Record<string, unknown>> | undefined {
  const stored = core.engine.find(builtInResources.configMaps, systemNamespace, generatorStateName);
  return stored?.["data"] as Readonly<Record<string, unknown>> | undefined;
}

test("release lists what dangles, and what is gone and kept in force", async () => {
  const fleet = await createFleet();
  assert.match((await fleet.run("release")).stdout, /^No PodProtector dangles, and none is known to be gone/);
  await createProtector(fleet.core, "web", { conditions: [{ type: "Dangling" }] });
  await createProtector(fleet.core, "well");
  await createRefusal(fleet, { ...gone, agoMs: 120_000 });
  const { exitCode, stdout } = await fleet.run("release");
  assert.equal(exitCode, 1);
  assert.match(
    stdout,
    /^core: shop\/web dangles: its source has vanished without being deleted\n {2}if that is gone for/,
  );
  assert.match(stdout, /for good: podseidon release shop\/web\n/);
  assert.match(stdout, /core: shop\/gone is gone for at least 2 m 00 s, and webhooks keep it in force:\n {2}UID 1111/);
  assert.doesNotMatch(stdout, /well/);
});

test("release marks a dangling PodProtector, and nothing else", async () => {
  const fleet = await createFleet();
  const { core } = fleet;
  await createProtector(core, "web", { conditions: [{ type: "Dangling" }] });
  await createProtector(core, "well");
  const { exitCode, stdout } = await fleet.run("release", "shop/web");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^core: PodProtector shop\/web gets the annotation\n/);
  const { metadata } = core.engine.get(core.protectors, "shop", "web");
  assert.equal(metadata.annotations?.[annotations.released], "true");
  const well = await fleet.run("release", "well", "-n", "shop");
  assert.equal(well.exitCode, 1);
  assert.match(well.problem ?? "", /^PodProtector shop\/well does not dangle, and no release of it is held: delete/);
  assert.equal(core.client.writes.length, 1);
});

test("release lets a held deletion pass, and no change of a floor", async () => {
  const fleet = await createFleet();
  const { core } = fleet;
  const release = "Deployment web asks to release its floor of 3, and too many";
  const lower = "Deployment api asks for a floor of 0 instead of 3, and too many";
  await createProtector(core, "web", { conditions: [{ type: "ChangeHeld", message: release }] });
  await createProtector(core, "api", { conditions: [{ type: "ChangeHeld", message: lower }] });
  assert.equal((await fleet.run("release", "shop/web")).exitCode, 0);
  assert.equal((await fleet.run("release", "shop/api")).exitCode, 1);
});

test("release lets a vanished PodProtector go by its name or UID, and --undo takes that back", async () => {
  const fleet = await createFleet();
  await createRefusal(fleet, { ...gone, agoMs: 1_000 });
  const made = await fleet.run("release", "shop/gone", "--reason", "torn down");
  assert.deepEqual([made.exitCode, made.problem], [0, undefined]);
  assert.deepEqual(dataIn(fleet), { [byHandKeyOf(uid)]: "torn down" });
  assert.match((await fleet.run("release")).stdout, /core: UID 1{8}-.* was let go: torn\n? *down\n/);
  assert.equal((await fleet.run("release", uid, "--undo")).exitCode, 0);
  assert.deepEqual(dataIn(fleet) ?? {}, {});
  // The ConfigMap is there by now.
  assert.equal((await fleet.run("release", uid)).exitCode, 0);
  assert.deepEqual(dataIn(fleet), { [byHandKeyOf(uid)]: "released by hand" });
});

test("release of something that is not known says what it looked for", async () => {
  const fleet = await createFleet();
  const unknown = await fleet.run("release", "shop/nothing");
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.problem ?? "", /^there is no PodProtector "shop\/nothing", and no Event says/);
  const undo = await fleet.run("release", "web", "--undo");
  assert.deepEqual([undo.exitCode, undo.problem], [1, "release --undo: say the UID that was let go"]);
  await createRefusal(fleet, { ...gone, agoMs: 3_000 });
  await createRefusal(fleet, { ...gone, uid: uid.replace("1111", "9999"), agoMs: 2_000 });
  assert.match((await fleet.run("release", "shop/gone")).problem ?? "", /^several have had that name; say a UID: /);
});

test("release of a vanished one in several cores needs no --core where one knows of it", async () => {
  const fleet = await createFleet("other");
  await createRefusal(fleet, { ...gone, agoMs: 1_000 });
  const cores = ["--core", "a=core", "--core", "b=other"];
  assert.equal((await fleet.run("release", "shop/gone", ...cores)).exitCode, 0);
  const unknown = await fleet.run("release", uid.replace("1111", "9999"), ...cores);
  assert.deepEqual([unknown.exitCode, unknown.problem], [1, "in which core? Say one --core"]);
});
