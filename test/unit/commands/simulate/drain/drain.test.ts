import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { planDrain } from "../../../../../src/commands/simulate/drain-plan.ts";
import {
  drainJSON,
  drainReport,
  type DrainReport,
  drainText,
} from "../../../../../src/commands/simulate/drain/drain-report.ts";
import { type SimulatedPod } from "../../../../../src/commands/simulate/simulated-pods.ts";
import { builtInResources } from "../../../../double/index.ts";
import {
  createCellLease,
  somebodyIsHeard,
  createFleet,
  createProtector,
  type Fleet,
  forbid,
  type TestCluster,
} from "../../support/fleet.ts";
import { createPod } from "../pods-on-double.ts";
import { guardOptions, pod, podsNamed, protector } from "../support.ts";
import { goldenOf } from "../../support/golden.ts";

const shown = goldenOf(import.meta.filename);

const { nodes, podDisruptionBudgets } = builtInResources;

async function fleetOf(): Promise<{ readonly fleet: Fleet; readonly worker: TestCluster }> {
  const fleet = await createFleet("worker");
  const worker = fleet.clusters.get("worker")!;
  await worker.create(nodes, undefined, { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  await createProtector(fleet.core, "web", { minAvailable: 2, cells: [{ cellID: "w1", available: 3 }] });
  await createCellLease(fleet.core, fleet.clock, "w1");
  for (const name of ["web-1", "web-2"]) await createPod(worker, name, "web");
  return { fleet, worker };
}

const drain = ["simulate", "drain", "node-1", "--worker=w1=worker"];

test("a drain is planned from the core's PodProtectors and the worker's pods, and nothing is written", async (t) => {
  const { fleet, worker } = await fleetOf();
  await shown(t, fleet, ...drain);
  assert.deepEqual([...fleet.core.client.writes, ...worker.client.writes], []);
});

test("a drain that would not end has exit code 1, and JSON says the same", async (t) => {
  const { fleet } = await fleetOf();
  await createPod(fleet.clusters.get("worker")!, "api-1", "api");
  await createProtector(fleet.core, "api", { minAvailable: 1, cells: [{ cellID: "w1", available: 1 }] });
  await shown(t, fleet, ...drain, "-o", "json");
});

test("a drain of some of the pods is planned for these alone", async (t) => {
  const { fleet } = await fleetOf();
  await shown(t, fleet, ...drain, "--pod-selector=app=other");
});

test("a silent cell keeps its pods", async (t) => {
  const { fleet } = await fleetOf();
  await fleet.clock.advance(10 * 60_000);
  await somebodyIsHeard(fleet.core, fleet.clock);
  await shown(t, fleet, ...drain);
});

test("a PodDisruptionBudget that allows nothing is named", async (t) => {
  const { fleet, worker } = await fleetOf();
  const spec = { minAvailable: 2, selector: { matchLabels: { app: "web" } } };
  const metadata = { name: "web" };
  await worker.create(podDisruptionBudgets, "shop", {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata,
    spec,
  });
  const status = {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 2,
    desiredHealthy: 2,
    expectedPods: 2,
  };
  const patch = { contentType: "application/merge-patch+json", body: { status } };
  await worker.engine.patch(podDisruptionBudgets, "shop", "web", patch, { subresource: "status" });
  await shown(t, fleet, ...drain);
});

test("a node that is not there, and a cell that nobody named, are said", async (t) => {
  const { fleet } = await fleetOf();
  await shown(t, fleet, "simulate", "drain", "node-9", "--worker=w1=worker");
  await shown(t, fleet, "simulate", "drain", "node-1");
});

test("missing rights are named: a plan needs PodProtectors and pods, and does without nodes and budgets", async (t) => {
  const { fleet, worker } = await fleetOf();
  forbid(worker, /\/nodes\/|poddisruptionbudgets/);
  await shown(t, fleet, ...drain);
  forbid(worker, /\/pods/);
  await shown(t, fleet, ...drain);
  forbid(fleet.core, /podprotectors/);
  await shown(t, fleet, ...drain);
});

const protectors = [
  protector("web", { min: 2, cells: { a: 3 } }),
  protector("api", { min: 1, cells: { a: 1 } }),
  protector("tried", { min: 1, cells: { a: 1 }, metadata: { annotations: { [annotations.mode]: "shadow" } } }),
];

function report() {
  const pods = [
    ...podsNamed("web", 2),
    ...podsNamed("api", 1, { app: "api" }),
    ...podsNamed("tried", 1, { app: "tried" }),
    ...podsNamed("free", 1, { app: "free", controllerKind: undefined }),
    pod("agent", { controllerKind: "DaemonSet" }),
  ];
  const nodes = [{ name: "node-1", pods }];
  const plan = planDrain({ ...guardOptions(...protectors), cellID: "a", nodes, budgets: [] });
  return drainReport(plan, { nodes: ["node-1"], cell: "a", protectors });
}

test("there is a row for each PodProtector, what is stuck first, and one for pods without any", () => {
  const rows = report().rows.map(({ id, pods, freeNow, atOnce, later, never, rounds }) => {
    return [id, pods, freeNow, atOnce, later, never, rounds];
  });
  assert.deepEqual(rows, [
    ["core/shop/api", 1, 0, 0, 0, 1, 0],
    ["core/shop/tried", 1, 0, 1, 0, 0, 1],
    ["core/shop/web", 2, 1, 1, 1, 0, 2],
    [undefined, 1, undefined, 1, 0, 0, 1],
  ]);
});

test("totals, obstacles, what is only in shadow, and the flags that kubectl asks for", () => {
  const { totals, obstacles, shadowed, flags, isEndless, stuckAt } = report();
  assert.deepEqual(totals, { skipped: 1, "at-once": 3, later: 1, never: 1 });
  assert.deepEqual(
    obstacles.map(({ by, pods }) => [by, ...pods]),
    [["PodProtector core/shop/api", "shop/api-1"]],
  );
  assert.deepEqual([...shadowed], [["core/shop/tried", 1]]);
  assert.deepEqual(flags, ["--force", "--ignore-daemonsets"]);
  assert.deepEqual([isEndless, stuckAt], [true, "node-1"]);
});

const terminal = { columns: 80, isColoured: false };
const shownProtectors = [
  protector("web", { min: 2, cells: { a: 3 } }),
  protector("a-workload-with-a-name-that-is-longer-than-a-terminal-is-wide-by-far", {
    min: 1,
    cells: { a: 1 },
    spec: { selector: { matchLabels: { app: "api" } } },
  }),
];

function reportOf(...pods: readonly SimulatedPod[]): DrainReport {
  const nodes = [
    { name: "node-1", pods },
    { name: "node-2", pods: [] },
  ];
  const plan = planDrain({ ...guardOptions(...protectors), cellID: "a", nodes, budgets: [] });
  return drainReport(plan, { nodes: ["node-1", "node-2"], cell: "a", protectors: shownProtectors });
}

test("a drain that ends says what waits for replacements", () => {
  assert.equal(
    drainText(reportOf(...podsNamed("web", 2), pod("x", { app: "x" })), terminal),
    `Drain of node-1, node-2 in cell a: 3 pods to evict.

PODPROTECTOR       PODS  FREE NOW  AT ONCE  LATER  NEVER  ROUNDS
core/shop/web         2         1        1      1      0       2
(no PodProtector)     1         -        1      0      0       1

The drain would end: 2 pods at once, 1 pod later.
Later: when the nodes before are empty, and when replacements are available
elsewhere, if there is room for them.
`,
  );
});

test("a drain that never ends says why, what to do, and what kubectl needs, in 80 columns", () => {
  const agent = pod("agent", { controllerKind: "DaemonSet" });
  const text = drainText(reportOf(...podsNamed("api", 1, { app: "api" }), agent), terminal);
  assert.match(
    text,
    /^Drain of node-1, node-2 in cell a: 1 pod to evict, 1 left alone \(DaemonSets,\nstatic pods\)\.$/m,
  );
  assert.match(text, /^ {2}keeps shop\/api-1$/m);
  assert.match(text, /^ {2}to do: add a replica, or lower spec\.minAvailable of the PodProtector$/m);
  assert.match(text, /^The drain would not end: 1 pod would stay\.$/m);
  assert.match(text, /^kubectl begins with the next node only when node-1 is empty or --timeout is\nover\.$/m);
  assert.match(text, /^kubectl drain asks for --ignore-daemonsets\.$/m);
  const tooLong = text.split("\n").filter((line) => line.length > 80 && line.trim().includes(" "));
  assert.deepEqual(tooLong, []);
});

test("nodes without pods are drained at once", () => {
  assert.equal(drainText(reportOf(), terminal), "Drain of node-1, node-2 in cell a: 0 pods to evict.\n");
  const text = drainText(reportOf(pod("x", { app: "x" })), terminal);
  assert.match(text, /^The drain would end at once: nothing has to wait\.$/m);
});

test("the JSON has each pod with its fate", () => {
  const document = JSON.parse(drainJSON(reportOf(...podsNamed("web", 2), ...podsNamed("api", 1, { app: "api" }))));
  assert.equal(document.ends, false);
  assert.equal(document.stuckAt, "node-1");
  assert.deepEqual(document.totals, { skipped: 0, "at-once": 1, later: 1, never: 1 });
  const fates = document.pods.map(({ name, fate, round }: Record<string, unknown>) => [name, fate, round]);
  assert.deepEqual(fates, [
    ["api-1", "never", undefined],
    ["web-1", "at-once", undefined],
    ["web-2", "later", 2],
  ]);
  assert.equal(document.obstacles[0].kind, "undrainable");
  assert.equal(document.podProtectors[1].freeNow, 1);
});
