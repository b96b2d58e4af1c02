import assert from "node:assert/strict";
import { test } from "node:test";
import {
  annotations,
  finalizer,
  labels as podseidonLabels,
  sourceLabels,
} from "../../../../../src/api/v1alpha1/names.ts";
import { type ReleasedWorkload, releaseSteps } from "../../../../../src/commands/simulate/delete/release-steps.ts";
import { latchesKey } from "../../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../../src/kube/generator-state.ts";
import { builtInResources, type JsonObject } from "../../../../double/index.ts";
import { createFleet, createProtector, type Fleet, forbid, systemNamespace } from "../../support/fleet.ts";
import { createPod } from "../pods-on-double.ts";
import { goldenOf } from "../../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const { configMaps, deployments, namespaces } = builtInResources;

/** `keep`: annotations of the PodProtector. */
async function fleetOf(metadata: JsonObject = {}, keep: JsonObject = {}): Promise<Fleet> {
  const fleet = await createFleet();
  const { core } = fleet;
  const labels = { app: "web" };
  await core.create(deployments, "shop", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", ...metadata },
    spec: {
      replicas: 4,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "web:1" }] } },
    },
  });
  await createProtector(core, "deployment-web", {
    minAvailable: 3,
    labels,
    cells: [
      { cellID: "a", available: 3 },
      { cellID: "b", available: 1 },
    ],
    metadata: {
      annotations: keep,
      finalizers: [finalizer],
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
    },
  });
  return fleet;
}

async function latch({ core }: Fleet, cause: string): Promise<void> {
  const data = { [latchesKey]: JSON.stringify({ latched: [[cause, "2026-01-01T00:00:00.000000Z"]], approvals: [] }) };
  const metadata = { name: generatorStateName };
  await core.create(configMaps, systemNamespace, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
}

const simulate = ["simulate", "delete", "deployment", "web", "-n", "shop"];

test("the steps of the deletion are told, and which of them are known", async (t) => {
  const fleet = await fleetOf();
  await createProtector(fleet.core, "all", { minAvailable: 1, labels: { app: "web" } });
  await shown(t, fleet, ...simulate);
  assert.deepEqual(fleet.core.client.writes, []);
});

test("what its owner keeps is held, also where the namespace is exempt", async (t) => {
  const fleet = await fleetOf({}, { [annotations.keep]: "2" });
  const body = { metadata: { labels: { [podseidonLabels.massChanges]: "allow" } } };
  await fleet.core.engine.patch(namespaces, undefined, "shop", { contentType: "application/merge-patch+json", body });
  await shown(t, fleet, ...simulate);
});

test("changes that are held now keep its floor, and that is exit code 1", async (t) => {
  const fleet = await fleetOf();
  await latch(fleet, "namespace/shop");
  await shown(t, fleet, ...simulate, "-o", "json");
});

test("of a Deployment with an owner the cause is the owner's kind", async () => {
  const owner = (apiVersion: string, controller?: true): JsonObject => {
    return { apiVersion, kind: "Shop", name: "s", uid: `u-${apiVersion}`, ...(controller && { controller }) };
  };
  const causeOf = async (...ownerReferences: readonly JsonObject[]): Promise<unknown> => {
    const fleet = await fleetOf({ ownerReferences: [...ownerReferences] });
    return JSON.parse((await fleet.run(...simulate, "-o", "json")).stdout).cause;
  };
  assert.equal(await causeOf(owner("example.com/v1")), "owner/Shop.example.com");
  assert.equal(await causeOf(owner("v1")), "owner/Shop");
  assert.equal(await causeOf(owner("v1"), owner("example.com/v1", true)), "owner/Shop.example.com");
});

test("the label of the namespace that nothing is held is looked at", async (t) => {
  const fleet = await fleetOf();
  await latch(fleet, "core");
  const body = { metadata: { labels: { [podseidonLabels.massChanges]: "allow" } } };
  await fleet.core.engine.patch(namespaces, undefined, "shop", { contentType: "application/merge-patch+json", body });
  await shown(t, fleet, ...simulate);
});

test("what may not be read is said, and the rest is told all the same", async (t) => {
  const fleet = await fleetOf();
  forbid(fleet.core, /configmaps|\/namespaces\/shop$/);
  await shown(t, fleet, ...simulate);
});

test("a Deployment that is not there, and several cores, are refused", async (t) => {
  const fleet = await fleetOf();
  await shown(t, fleet, "simulate", "delete", "deployment", "db", "-n", "shop");
  await shown(t, fleet, ...simulate, "--core=a=core", "--core=b=core");
});

async function fleetOfOfDeleteNamespace(): Promise<Fleet> {
  const fleet = await createFleet("worker");
  await createProtector(fleet.core, "web", {
    minAvailable: 2,
    cells: [{ cellID: "w1", available: 3 }],
    metadata: {
      finalizers: [finalizer],
      labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
    },
  });
  await createProtector(fleet.core, "by-hand", { minAvailable: 1, labels: { app: "none" } });
  await createProtector(fleet.core, "without-floor", { minAvailable: 0, labels: { app: "none" } });
  for (const cluster of fleet.clusters.values())
    for (const name of ["web-1", "web-2", "web-3"]) await createPod(cluster, name, "web");
  return fleet;
}

const deleteNamespace = ["simulate", "delete", "namespace", "shop"];

test("in one cell alone, the pods that must stay keep the namespace", async (t) => {
  const fleet = await fleetOfOfDeleteNamespace();
  await shown(t, fleet, ...deleteNamespace, "--worker=w1=worker");
});

test("where the core has the pods, the release of the workloads lets all go", async (t) => {
  const fleet = await fleetOfOfDeleteNamespace();
  await shown(t, fleet, ...deleteNamespace, "--cell=w1", "-o", "json");
});

test("a namespace without PodProtectors keeps nobody", async (t) => {
  const fleet = await fleetOfOfDeleteNamespace();
  await shown(t, fleet, "simulate", "delete", "namespace", "empty", "--worker=w1=worker");
});

async function fleetOfOfDeletePod(): Promise<Fleet> {
  const fleet = await createFleet("worker");
  const worker = fleet.clusters.get("worker")!;
  const metadata = { annotations: { [annotations.mode]: "shadow" } };
  await createProtector(fleet.core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "tried", { minAvailable: 1, cells: [{ cellID: "w1", available: 1 }], metadata });
  for (const name of ["web-1", "web-2"]) await createPod(worker, name, "web");
  await createPod(worker, "web-3", "web", { isReady: false });
  await createPod(worker, "web-4", "web", { annotations: { [annotations.forceDelete]: "" } });
  await createPod(worker, "done", "web", { phase: "Succeeded" });
  await createPod(worker, "free", "free");
  await createPod(worker, "tried-1", "tried");
  return fleet;
}

const deletePod = ["simulate", "delete", "pod"];
const at = ["-n", "shop", "--worker=w1=worker"];

test("each pod is told with its answer, who is asked, and why", async (t) => {
  const fleet = await fleetOfOfDeletePod();
  const names = ["web-1", "web-2", "web-3", "web-4", "done", "free", "tried-1"];
  const { stdout } = await shown(t, fleet, ...deletePod, ...names, ...at);
  assert.equal(
    stdout,
    `POD           DELETION  PODPROTECTORS    WHY
shop/web-1    admitted  core/shop/web    takes 1 free
shop/web-2    refused   core/shop/web    see below
shop/web-3    admitted  core/shop/web    takes none free
shop/web-4    admitted  core/shop/web    forced
shop/done     admitted  core/shop/web    has ended
shop/free     admitted  -                not protected
shop/tried-1  admitted  core/shop/tried  only in shadow

PodProtector core/shop/web: what is free is promised to others
  keeps shop/web-2
  to do: wait until these have gone
`,
  );
});

test("JSON has the same, and exit code 0 says that all would go", async (t) => {
  const fleet = await fleetOfOfDeletePod();
  await shown(t, fleet, ...deletePod, "web-1", "tried-1", ...at, "-o", "json");
});

test("a pod that is not there is named, and so is a cell that nobody gave", async (t) => {
  const fleet = await fleetOfOfDeletePod();
  await shown(t, fleet, ...deletePod, "web-9", ...at);
  await shown(t, fleet, ...deletePod, "web-1");
});

const workload: ReleasedWorkload = {
  namespace: "shop",
  name: "web",
  cause: "namespace/shop",
  protector: { id: "core/shop/deployment-web", mustStay: 3, available: 4 },
  cells: [
    { cell: "a", available: 3 },
    { cell: "b", available: 1 },
  ],
  others: [],
  isExempt: false,
  heldCauses: [],
};

function told(changes: Partial<ReleasedWorkload>): { readonly text: string; readonly isHeld: boolean } {
  const { steps, isHeld } = releaseSteps({ ...workload, ...changes });
  return { text: steps.map(({ isJudged, text }) => `${isJudged ? "known" : "expected"}: ${text}`).join("\n"), isHeld };
}

test("the deletion is accepted, the PodProtector is released after two seconds, and then all pods may go", () => {
  const { text, isHeld } = told({});
  assert.equal(isHeld, false);
  assert.match(text, /^known: The API server accepts the deletion of Deployment shop\/web/);
  assert.match(text, /^expected: Two seconds later the generator releases core\/shop\/deployment-web, and the 3 that/m);
  assert.match(text, /^expected: It counts as one change of the cause namespace\/shop/m);
  assert.match(text, /^expected: Then the garbage collector deletes all 4 available pods \(a 3, b 1\)/m);
});

test("a cause that holds changes now keeps the floor until a person approves", () => {
  for (const heldCauses of [["namespace/shop"], ["core"]]) {
    const { text, isHeld } = told({ heldCauses });
    assert.equal(isHeld, true);
    assert.match(
      text,
      /^known: Changes of the cause namespace\/shop are held now, so core\/shop\/deployment-web stays/m,
    );
    assert.doesNotMatch(text, /garbage collector/);
  }
  assert.equal(told({ heldCauses: ["manager/helm"] }).isHeld, false);
});

test("nothing is held in an exempt namespace, nor where there is no floor", () => {
  const exempt = told({ isExempt: true, heldCauses: ["core"] });
  assert.equal(exempt.isHeld, false);
  assert.match(exempt.text, /^known: The label of its namespace says that changes there are never held/m);
  const floorless = { id: "core/shop/deployment-web", mustStay: 0, available: 1 };
  assert.match(told({ protector: floorless, heldCauses: ["core"] }).text, /it has no floor to lose/);
});

test("what is not known is said: held changes that cannot be read, a PodProtector that is not there", () => {
  assert.match(told({ heldCauses: undefined }).text, /Whether any are held now could not be read/);
  assert.match(told({ protector: undefined }).text, /^known: No PodProtector is generated for it/m);
});

test("other PodProtectors that count such pods are named", () => {
  assert.match(told({ others: ["core/shop/all"] }).text, /^known: These PodProtectors .*: core\/shop\/all\.$/m);
});
