import assert from "node:assert/strict";
import { test } from "node:test";
import { upstreamPodProtectorCrd } from "../../double/index.ts";
import { type Rig, withRig } from "./rig.ts";

const statuses = (rig: Rig): Readonly<Record<string, string>> =>
  Object.fromEntries((rig.protector("web").status?.conditions ?? []).map(({ type, status }) => [type, status]));

test("where an object stands against its floor is written with its counts", () =>
  withRig(async (rig) => {
    await rig.protect("web", { minAvailable: 2 });
    await rig.pod("a");
    const { core } = await rig.start({ trigger: true });
    await rig.clock.advance(5000);
    assert.deepEqual(statuses(rig), { BelowFloor: "True" });
    await rig.pod("b");
    await rig.clock.advance(2000);
    assert.deepEqual(statuses(rig), { BelowFloor: "False", AtFloor: "True" });
    assert.equal(core.count(/^PUT .*status$/), 2, "no writes for conditions alone");
    const [below] = rig.protector("web").status?.conditions ?? [];
    await rig.pod("c");
    await rig.clock.advance(2000);
    assert.deepEqual(statuses(rig), { BelowFloor: "False", AtFloor: "False" });
    assert.equal(rig.protector("web").status?.conditions?.[0]?.lastTransitionTime, below?.lastTransitionTime);
  }));

test("an edit of the floor of an idle object is one write of its conditions, and then there are none", () =>
  withRig(async (rig) => {
    await rig.protect("web", { minAvailable: 1 });
    await rig.pod("a");
    await rig.pod("b");
    const { core } = await rig.start({ trigger: true });
    await rig.clock.advance(60_000);
    assert.deepEqual(statuses(rig), {});
    const before = core.count(/^PUT .*status$/);
    await rig.editSpec("web", { minAvailable: 2 });
    await rig.clock.advance(300_000);
    assert.deepEqual(statuses(rig), { AtFloor: "True" });
    assert.equal(core.count(/^PUT .*status$/), before + 1);
    assert.equal(rig.available("web"), 2);
  }));

test("an admission that takes the last free pod is no cause to write, until it settles", () =>
  withRig(async (rig) => {
    await rig.protect("web", { minAvailable: 1 });
    await rig.pod("a");
    await rig.pod("b");
    const { core } = await rig.start({ trigger: true });
    await rig.clock.advance(60_000);
    const before = core.count(/^PUT .*status$/);
    await rig.admit("web", "a");
    await rig.clock.advance(5000);
    assert.equal(core.count(/^PUT .*status$/), before);
    await rig.removePod("a");
    await rig.clock.advance(2000);
    assert.deepEqual(statuses(rig), { AtFloor: "True" });
    assert.equal(core.count(/^PUT .*status$/), before + 1);
  }));

test("a cell whose counts answer another spec is pending until it has counted", () =>
  withRig(async (rig) => {
    await rig.protect("web", { minAvailable: 1 });
    await rig.pod("a");
    await rig.start({ trigger: true });
    await rig.clock.advance(5000);
    const aggregation = rig.cell("web")?.aggregation;
    assert.ok(aggregation);
    await rig.putCell("web", { cellID: "away", aggregation });
    await rig.editSpec("web", { minReadySeconds: 1 });
    await rig.clock.advance(5000);
    assert.equal(statuses(rig)["CountsPending"], "True");
    const pending = rig.protector("web").status?.conditions?.find(({ type }) => type === "CountsPending");
    assert.match(pending?.message ?? "", /: "away"$/);
    await rig.editSpec("web", { minReadySeconds: 0 });
    await rig.clock.advance(5000);
    assert.equal(statuses(rig)["CountsPending"], "False");
  }));

test("a CRD that drops conditions does not have them written again and again", () =>
  withRig(async (rig) => {
    await rig.protect("web", { minAvailable: 2 });
    await rig.pod("a");
    await rig.pod("b");
    const { core } = await rig.start({ trigger: true });
    await rig.clock.advance(300_000);
    assert.deepEqual(statuses(rig), {});
    assert.ok(core.count(/^PUT .*status$/) <= 2, String(core.count(/^PUT .*status$/)));
  }, upstreamPodProtectorCrd()));
