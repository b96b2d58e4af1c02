import assert from "node:assert/strict";
import { test } from "node:test";
import path from "node:path";
import { type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { readyOf } from "../../../../src/api/v1alpha1/conditions.ts";
import { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "../../../double/index.ts";
import { manifestsFolder, onlyOne, readManifests } from "../../../manifests/manifest-files.ts";
import { counted, type Rig, rigFor } from "../rig.ts";

const conditionsOf = (rig: Rig): readonly Condition[] => rig.protector("web").status?.conditions ?? [];
/** Of all conditions but Ready. */
const statuses = (rig: Rig): Readonly<Record<string, string>> =>
  Object.fromEntries(
    conditionsOf(rig).flatMap(({ type, status }) => (type === "Ready" ? [] : [[type, status] as const])),
  );
/** Writes the status as a Go webhook does that admits nothing new: without conditions, and with upstream's summary. */
async function dropOurs(rig: Rig): Promise<void> {
  const { status, ...rest } = rig.protector("web");
  const { totalReplicas, aggregatedAvailableReplicas, estimatedAvailableReplicas } = status!.summary;
  const summary = { totalReplicas, aggregatedAvailableReplicas, estimatedAvailableReplicas };
  const body = JSON.parse(JSON.stringify({ ...rest, status: { cells: status!.cells, summary } })) as unknown;
  await rig.coreEngine.update(rig.protectorType, "default", "web", body, { subresource: "status" });
}

/** The CRD with `find` replaced by a field that nobody writes. */
function crdWithout(find: RegExp): unknown {
  const crd = onlyOne(
    readManifests(path.join(manifestsFolder, "base/crd/podprotectors.yaml")),
    "CustomResourceDefinition",
  );
  const text = JSON.stringify(crd);
  const earlier = text.replace(find, '"none":$1');
  assert.notEqual(earlier, text);
  return JSON.parse(earlier);
}

/** Two pods, one of which must stay, counted a minute ago. */
const quiet = { pods: ["a", "b"], spec: { minAvailable: 1 }, trigger: true, ms: 60_000 } as const;

const ready = (rig: Rig): Condition | undefined => readyOf(conditionsOf(rig));

test("where an object stands against its floor is written with its counts", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minAvailable: 2 });
  await rig.pod("a");
  const { core } = await rig.start({ trigger: true });
  await rig.clock.advance(5000);
  assert.deepEqual(statuses(rig), { BelowFloor: "True" });
  await rig.pod("b");
  await rig.clock.advance(2000);
  assert.deepEqual(statuses(rig), { BelowFloor: "False", AtFloor: "True" });
  assert.equal(core.count(/^PUT .*status$/), 2, "no writes for conditions alone");
  const [below] = conditionsOf(rig);
  await rig.pod("c");
  await rig.clock.advance(2000);
  assert.deepEqual(statuses(rig), { BelowFloor: "False", AtFloor: "False" });
  assert.equal(rig.protector("web").status?.conditions?.[0]?.lastTransitionTime, below?.lastTransitionTime);
});

test("an edit of the floor of an idle object is one write of its conditions, and then there are none", async (t) => {
  const { rig, core } = await counted(t, quiet);
  assert.deepEqual(statuses(rig), {});
  const before = core.count(/^PUT .*status$/);
  await rig.editSpec("web", { minAvailable: 2 });
  await rig.clock.advance(300_000);
  assert.deepEqual(statuses(rig), { AtFloor: "True" });
  assert.equal(core.count(/^PUT .*status$/), before + 1);
  assert.equal(rig.available("web"), 2);
});

test("an admission that takes the last free pod is no cause to write, until it settles", async (t) => {
  const { rig, core } = await counted(t, quiet);
  const before = core.count(/^PUT .*status$/);
  await rig.admit("web", "a");
  await rig.clock.advance(5000);
  assert.equal(core.count(/^PUT .*status$/), before);
  await rig.removePod("a");
  await rig.clock.advance(2000);
  assert.deepEqual(statuses(rig), { AtFloor: "True" });
  assert.equal(core.count(/^PUT .*status$/), before + 1);
});

test("a cell whose counts answer another spec is pending until it has counted", async (t) => {
  const { rig } = await counted(t, { ...quiet, pods: ["a"], ms: 5000 });
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
});

test("a CRD that drops conditions does not have them written again and again", async (t) => {
  const crd = upstreamPodProtectorCrd();
  const { rig, core } = await counted(t, { ...quiet, spec: { minAvailable: 2 }, ms: 300_000, crd });
  assert.deepEqual(statuses(rig), {});
  assert.ok(core.count(/^PUT .*status$/) <= 2, String(core.count(/^PUT .*status$/)));
});

test("aggregations that find nothing new write nothing, whoever asks for them", async (t) => {
  const { rig, core } = await counted(t, quiet);
  assert.equal(ready(rig)?.status, "True");
  const before = [core.count(/^PUT /), rig.protector("web").metadata.resourceVersion];
  for (let pass = 0; pass < 50; pass += 1) {
    // An event of a counted pod that changes no count.
    await rig.relabel("a", { app: "web", pass: String(pass) });
    await rig.clock.advance(10_000);
  }
  assert.deepEqual([core.count(/^PUT /), rig.protector("web").metadata.resourceVersion], before);
});

test("Ready comes with first counts, follows the other conditions, and has the generation of the spec", async (t) => {
  const { rig } = await counted(t, { ...quiet, pods: ["a", "b"], ms: 5000 });
  assert.partialDeepStrictEqual(ready(rig), { status: "True", reason: "Ready", observedGeneration: 1 });
  const { lastTransitionTime } = ready(rig) ?? {};
  await rig.editSpec("web", { minAvailable: 2 });
  await rig.clock.advance(5_000);
  assert.partialDeepStrictEqual(ready(rig), {
    status: "True",
    reason: "AtFloor",
    observedGeneration: 2,
    lastTransitionTime,
  });
  for (const { observedGeneration } of conditionsOf(rig)) assert.equal(observedGeneration, 2);
  const aggregation = rig.cell("web")?.aggregation;
  assert.ok(aggregation);
  await rig.putCell("web", { cellID: "away", aggregation });
  await rig.editSpec("web", { minReadySeconds: 1 });
  await rig.clock.advance(5_000);
  assert.partialDeepStrictEqual(ready(rig), { status: "False", reason: "CountsPending", observedGeneration: 3 });
});

test("an edit that changes no condition is one write, by which kubectl wait knows that it was looked at", async (t) => {
  const { rig, core } = await counted(t, { spec: { minAvailable: 1 }, trigger: true, ms: 60_000 });
  const before = core.count(/^PUT .*status$/);
  assert.equal(rig.protector("web").status?.summary.disruptionsAllowed, 2);
  await rig.editSpec("web", { minAvailable: 2 });
  await rig.clock.advance(300_000);
  assert.equal(ready(rig)?.observedGeneration, 2);
  assert.equal(rig.protector("web").status?.summary.disruptionsAllowed, 1);
  assert.equal(core.count(/^PUT .*status$/), before + 1);
});

test("what a Go component has dropped is no cause to write, and comes back with the next counts", async (t) => {
  const { rig, core } = await counted(t, quiet);
  await dropOurs(rig);
  const before = core.count(/^PUT .*status$/);
  await rig.clock.advance(300_000);
  assert.equal(core.count(/^PUT .*status$/), before);
  assert.equal(ready(rig), undefined);
  await rig.pod("c");
  await rig.clock.advance(5_000);
  assert.equal(ready(rig)?.reason, "Ready");
  assert.equal(rig.protector("web").status?.summary.disruptionsAllowed, 2);
});

test("a CRD of an earlier release that drops the generation of counts is told", async (t) => {
  const crd = crdWithout(/"countedGeneration":(\{.*?\})/);
  const { logs, metrics } = await counted(t, { ...quiet, pods: ["a"], crd });
  assert.equal(metrics.value("extension_fields_pruned_total", { role: "aggregator", core: "core" }), 1);
  assert.match(logs.map(({ message }) => message).join("\n"), /drops extension fields/);
});

test("a CRD that drops some of our fields is told with the second write, and again when it keeps them", async (t) => {
  const crd = crdWithout(/"promised":\{.*?\},"disruptionsAllowed":\{.*?\},"countedCells":(\{.*?\})/);
  const { rig, core, logs, metrics } = await counted(t, { ...quiet, pods: ["a"], crd });
  assert.deepEqual(statuses(rig), { AtFloor: "True" });
  assert.equal(metrics.value("extension_fields_pruned_total", { role: "aggregator", core: "core" }), 1);
  assert.match(logs.map(({ message }) => message).join("\n"), /drops extension fields, so columns are empty/);
  const before = core.count(/^PUT .*status$/);
  await rig.pod("b");
  await rig.clock.advance(5_000);
  assert.equal(statuses(rig)["Pruned"], "True");
  assert.equal(ready(rig)?.reason, "Pruned");
  await rig.clock.advance(300_000);
  assert.equal(core.count(/^PUT .*status$/), before + 1);
  await rig.coreEngine.installCrd(permissivePodProtectorCrd());
  await rig.pod("c");
  await rig.clock.advance(5_000);
  await rig.pod("d");
  await rig.clock.advance(5_000);
  assert.equal(statuses(rig)["Pruned"], "False");
});
