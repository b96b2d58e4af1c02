import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID, packDigests } from "../../../../src/accounting/history/uid-digest.ts";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { type Bucket } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { builtInResources, type JsonObject, type KubeObject } from "../../../double/index.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  createRefusal,
  forbid,
  type TestCluster,
} from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const ready = [{ type: "Ready", status: "True", lastTransitionTime: "2025-12-31T00:00:00Z" }];

async function createPod({ create, engine }: TestCluster, name: string, app: string, metadata: JsonObject = {}) {
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name, labels: { app } },
    spec: { containers: [{ name: "main", image: "web:1" }], nodeName: "node-1" },
  };
  const created = await create(builtInResources.pods, "shop", body);
  const status = { phase: "Running", conditions: ready };
  return await engine.update(builtInResources.pods, "shop", name, { ...created, status }, { subresource: "status" });
}

const bucketOf = ({ metadata: { uid, resourceVersion } }: KubeObject, startTime: string): Bucket =>
  ({ startTime, podUID: uid, podResourceVersion: resourceVersion }) as unknown as Bucket;

/** A core and a worker; a Deployment's PodProtector in the core. */
async function shopFleet(annotations: Readonly<Record<string, string>> = {}) {
  const fleet = await createFleet("worker");
  await createCellLease(fleet.core, fleet.clock, "w1", { agoMs: 300, annotations });
  return Object.assign(fleet, { worker: fleet.clusters.get("worker")! });
}

const ofDeployment: JsonObject = {
  labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
  finalizers: [finalizer],
};

const inWorker = ["--worker", "w1=worker", "-n", "shop"];

test("explain pod says that its deletion would be refused, why, who was refused, and what works", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web");
  const { metadata } = await createProtector(fleet.core, "web", {
    minAvailable: 3,
    cells: [{ cellID: "w1", available: 3 }],
    metadata: ofDeployment,
  });
  await createRefusal(fleet, { name: "web", uid: metadata.uid, count: 11, agoMs: 12_000 });
  const { stdout } = await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
  for (const line of stdout.split("\n")) assert(line.length <= 80, line);
});

test("explain tells of forced deletions, who forced them, and what would have refused the last", async (t) => {
  const fleet = await shopFleet();
  await createProtector(fleet.core, "web", {
    minAvailable: 3,
    cells: [{ cellID: "w1", available: 3 }],
    metadata: ofDeployment,
  });
  const message = 'Deletions by "alice" were forced that would be refused; last: Deletion of pod web-1: TooFew: why';
  await createRefusal(fleet, { name: "web", count: 3, agoMs: 12_000, reason: "ForcedDeletion", message });
  await shown(t, fleet, "explain", "deployment", "web", "-n", "shop");
});

test("explain pod tells of promised pods whether they are gone, terminating or still there", async (t) => {
  const fleet = await shopFleet();
  const pods = await Promise.all(["a", "b", "c"].map((name) => createPod(fleet.worker, `web-${name}`, "web")));
  const [a, b, c] = pods as [KubeObject, KubeObject, KubeObject];
  await fleet.worker.engine.delete(builtInResources.pods, "shop", "web-b");
  const packed = {
    startTime: ago(fleet.clock, 5_000),
    counter: 1,
    podUIDDigests: packDigests([digestOfUID(c.metadata.uid)]),
    podResourceVersion: "9",
  } as unknown as Bucket;
  const gone = { ...bucketOf(a, ago(fleet.clock, 9_000)), podUID: "00000000-0000-0000-0000-000000000000" };
  await createProtector(fleet.core, "web", {
    minAvailable: 3,
    cells: [
      {
        cellID: "w1",
        available: 4,
        buckets: [bucketOf(a, ago(fleet.clock, 30_000)), bucketOf(b, ago(fleet.clock, 2_000)), gone, packed],
      },
    ],
  });
  await shown(t, fleet, "explain", "pod", "web-c", ...inWorker);
});

test("explain pod says yes where the deletion would be admitted, and where nothing counts the pod", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web");
  await createPod(fleet.worker, "other-1", "other");
  await createProtector(fleet.core, "web", { minAvailable: 2, cells: [{ cellID: "w1", available: 3 }] });
  await shown(t, fleet, "explain", "pod", "shop/web-1", "--worker", "w1=worker");
  await shown(t, fleet, "explain", "pod", "other-1", ...inWorker);
});

test("explain tells shadow, force, and protectors that only count the pod", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web", { annotations: { [annotations.forceDelete]: "" } });
  await createPod(fleet.worker, "trial-1", "trial");
  const cells = [{ cellID: "w1", available: 1 }];
  await createProtector(fleet.core, "web", { cells });
  await createProtector(fleet.core, "trial", { cells, metadata: { annotations: { [annotations.mode]: "shadow" } } });
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
  await shown(t, fleet, "explain", "pod", "trial-1", ...inWorker);
});

test("explain finds the PodProtector of a workload, and one by its name", async (t) => {
  const fleet = await shopFleet();
  await createProtector(fleet.core, "web", { metadata: ofDeployment, cells: [{ cellID: "w1", available: 3 }] });
  for (const argv of [
    ["deployment", "shop/web"],
    ["deploy", "web", "-n", "shop"],
    ["ppr", "shop/web"],
    ["PodProtectors", "shop/web"],
  ]) {
    const { exitCode, stdout, problem } = await fleet.run("explain", ...argv);
    assert.deepEqual([exitCode, problem], [0, undefined], argv.join(" "));
    assert.match(stdout, /^PodProtector core\/shop\/web\n {2}state {5}ok\n/);
  }
  await shown(t, fleet, "explain", "statefulset", "shop/web");
});

test("what is gone since the generator released it is told as such, by status as well", async (t) => {
  const fleet = await shopFleet();
  const uid = "11111111-2222-3333-4444-555555555555";
  await fleet.core.create(builtInResources.events, "shop", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "released" },
    involvedObject: { kind: "PodProtector", namespace: "shop", name: "deployment-old", uid },
    reason: "Released",
    message: "Its floor of 8 is no longer in force: deleted in shop",
    source: { component: "podseidon-generator" },
    lastTimestamp: ago(fleet.clock, 242_000),
  });
  const told = "4 m 02 s ago, an Event says. Its floor of 8 is no longer in force: deleted in shop";
  await shown(t, fleet, "explain", "deployment", "shop/old");
  const { stdout } = await shown(t, fleet, "status");
  assert.ok(stdout.replaceAll(/\s+/g, " ").includes(`released shop/deployment-old ${told}`), stdout);
});

test("explain pod says when its API server does not get the webhook's decisions", async (t) => {
  const fleet = await shopFleet({ [cellLeaseAnnotations.gate]: "unreachable" });
  await createPod(fleet.worker, "web-1", "web");
  await createProtector(fleet.core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
});

test("explain pod speaks of namespaces that are left out where the pod is in one of them alone", async () => {
  for (const [namespaces, isSaid] of [
    ["shop", true],
    ["pay", false],
  ] as const) {
    const fleet = await shopFleet({ [cellLeaseAnnotations.gate]: `not-guarded ${namespaces}` });
    await createProtector(fleet.core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
    await createPod(fleet.worker, "web-1", "web");
    const { stdout } = await fleet.run("explain", "pod", "web-1", ...inWorker);
    assert.equal(stdout.replaceAll(/\s+/g, " ").includes("are not sent to the webhook"), isSaid, stdout);
  }
});

test("explain names what is wrong with its arguments", async () => {
  const fleet = await shopFleet();
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["pdo", "web"], /^"pdo" is no kind; allowed: pod, protector, deployment, .*; did you mean pod\?$/],
    [["pod", "a/b/c"], /^"a\/b\/c" is no name; allowed: NAME or NAMESPACE\/NAME$/],
    [["pod", "web-1", "--cell", "-"], /^explain: option --cell needs a value: --cell=cell$/],
    [["pod", "web-1", "--cell=a/b"], /^option --cell: "a\/b" is not a cell ID; allowed: the name of a cell$/],
    [["pod", "web-1", "--cell", "w2", "--worker", "w1=worker"], /^no --worker was given for cell w2; say --worker w2=/],
    [[], /^explain: <kind> is missing; allowed: /],
    [["pod"], /^"pod" names no object; allowed: KIND NAME or KIND\/NAME, such as pod web-0$/],
    [["pdo/web-1"], /^"pdo" is no kind/],
  ];
  for (const [argv, expected] of cases) {
    const { exitCode, problem = "" } = await fleet.run("explain", ...argv);
    assert.equal(exitCode, 2);
    assert.match(problem, expected);
  }
});

test("explain asks for the cell where there are several", async (t) => {
  const fleet = await shopFleet();
  await createCellLease(fleet.core, fleet.clock, "w2");
  await shown(t, fleet, "explain", "pod", "shop/web-1");
});

test("explain says which right is missing, and goes on with what it may read", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web");
  await createProtector(fleet.core, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  forbid(fleet.core, /events|leases|configmaps/);
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
  forbid(fleet.worker, /pods/);
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
});

test("explain -o json has the verdicts, the numbers and the advice", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web");
  await createProtector(fleet.core, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker, "-o", "json");
});

test("explain of a workload says why pods may not go in which cell, repeats nothing and cuts nothing", async (t) => {
  const fleet = await shopFleet();
  await createCellLease(fleet.core, fleet.clock, "w2", { agoMs: 19 * 60_000 });
  const why = `All ${"very ".repeat(70)}replicas must stay`;
  await createProtector(fleet.core, "web", {
    minAvailable: 3,
    metadata: ofDeployment,
    cells: [
      { cellID: "w1", available: 3 },
      { cellID: "w2", available: 2 },
    ],
    conditions: [{ type: "Undrainable", lastTransitionTime: ago(fleet.clock, 120_000), message: why }],
  });
  const message = 'Refused 2 deletions in 60 s (by runaway 2); last: Deletion of pod web-1 in cell "w1": Must stay 3';
  await createRefusal(fleet, { name: "web", count: 2, agoMs: 12_000, message });
  const { stdout } = await shown(t, fleet, "explain", "deployment", "shop/web");
  const text = stdout.replaceAll(/\n {12,}/g, " ");
  const [, inW1 = "", inW2 = ""] = /\n {2}a pod {5}(in cell w1 .*) (in cell w2 .*)\n/.exec(text) ?? [];
  assert.match(inW1, /^in cell w1 may not go now: without this pod fewer than the 3 that must stay would be left; /);
  assert.match(inW1, /so what was counted there is left out; with it there would be room$/);
  assert.match(inW2, /^in cell w2 may not go now: nothing has been heard from cell "w2" about this PodProtector for/);
  await createRefusal(fleet, { name: "web", count: 3, agoMs: 1_000, reason: "CellSilent", message: "Eviction of p" });
  await shown(t, fleet, "explain", "deployment", "shop/web");
});

test("explain pod names who refuses where several PodProtectors count the pod", async (t) => {
  const fleet = await shopFleet();
  await createPod(fleet.worker, "web-1", "web");
  const cells = [{ cellID: "w1", available: 3 }];
  for (const name of ["one", "other"]) {
    await createProtector(fleet.core, name, { minAvailable: name === "one" ? 3 : 1, labels: { app: "web" }, cells });
  }
  await shown(t, fleet, "explain", "pod", "web-1", ...inWorker);
});

test("explain says what a person can decide on a held change, and on a workload that vanished", async (t) => {
  const fleet = await shopFleet();
  const cells = [{ cellID: "w1", available: 3 }];
  await createProtector(fleet.core, "web", { metadata: ofDeployment, cells, conditions: [{ type: "ChangeHeld" }] });
  await createProtector(fleet.core, "old", { cells, conditions: [{ type: "Dangling" }] });
  await createProtector(fleet.core, "full", {
    minAvailable: 3,
    metadata: ofDeployment,
    cells,
    conditions: [{ type: "Dangling" }],
  });
  await shown(t, fleet, "explain", "protector", "shop/web");
  for (const name of ["old", "full"]) {
    const { stdout } = await fleet.run("explain", "protector", `shop/${name}`);
    assert.equal(stdout.match(new RegExp(`\\n {16}podseidon release shop/${name}\\n`, "g"))?.length, 1, stdout);
  }
});

test("explain pod says that a pod is another owner's, and how many such pods there are", async (t) => {
  const fleet = await shopFleet();
  const ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name: "nightly", uid: "job", controller: true }];
  await createPod(fleet.worker, "nightly-1", "web", { ownerReferences });
  const { engine, protectors } = fleet.core;
  const cells = [{ cellID: "w1", available: 3 }];
  const made = await createProtector(fleet.core, "web", { minAvailable: 3, cells, metadata: ofDeployment });
  const spec = { ...made["spec"], foreignOwners: ["Job.batch"] };
  const listed = await engine.update(protectors, "shop", "web", { ...made, spec });
  const copy = structuredClone(listed) as unknown as { status: { cells: { aggregation: object }[] } };
  Object.assign(copy.status.cells[0]!.aggregation, { foreignReplicas: 1, countedOwners: ["Job.batch"] });
  await engine.update(protectors, "shop", "web", copy, { subresource: "status" });
  await shown(t, fleet, "explain", "pod", "nightly-1", ...inWorker);
});
