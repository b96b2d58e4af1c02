import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type OpenClusters } from "../../../../src/commands/clusters/open.ts";
import { Budgets, readBudget } from "../../../../src/commands/simulate/budgets.ts";
import { gathered, judgeDeletions, obstaclesOfDeletions } from "../../../../src/commands/simulate/deletions.ts";
import { readBudgets, readGuards, readPods, workerOf } from "../../../../src/commands/simulate/reads.ts";
import {
  deletionOf,
  drainFlagsFor,
  readSimulatedPod,
  skippedByDrain,
} from "../../../../src/commands/simulate/simulated-pods.ts";
import { obstacleLines, stepLines } from "../../../../src/commands/simulate/steps.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type JsonObject } from "../../../double/index.ts";
import { createCellLease, createFleet, createProtector, type Fleet, forbid } from "../support/fleet.ts";
import { createPod } from "./pods-on-double.ts";
import { guardOptions, pod, podsNamed, protector } from "./support.ts";

function raw(status: JsonObject, spec: JsonObject = {}, name = "web"): JsonObject {
  return {
    metadata: { namespace: "shop", name, generation: 2 },
    spec: { selector: { matchLabels: { app: "web" } }, ...spec },
    status: { observedGeneration: 2, ...status },
  };
}

const tight = { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 };

function budgetsOf(...all: readonly JsonObject[]): Budgets {
  return new Budgets(all.flatMap((one) => readBudget(one) ?? []));
}

test("as many pods may go as disruptions are allowed, until these are replaced", () => {
  const budgets = budgetsOf(raw(tight));
  assert.equal(budgets.take(pod("web-1")), undefined);
  assert.equal(budgets.take(pod("web-2"))?.kind, "none-allowed");
  budgets.replaced([pod("web-1")]);
  assert.equal(budgets.take(pod("web-2")), undefined);
});

test("a pod without a controller is not replaced, so the budget has one healthy pod less", () => {
  const budgets = budgetsOf(raw(tight));
  budgets.replaced([pod("web-1", { controllerKind: undefined })]);
  assert.equal(budgets.take(pod("web-2"))?.kind, "none-allowed");
});

test("the replacement of a pod that was not ready is one healthy pod more", () => {
  const budgets = budgetsOf(raw({ ...tight, disruptionsAllowed: 0, currentHealthy: 2 }));
  assert.equal(budgets.take(pod("web-1"))?.kind, "none-allowed");
  budgets.replaced([pod("web-2", { isReady: false })]);
  assert.equal(budgets.take(pod("web-1")), undefined);
});

test("pods that were evicted a moment ago are counted as healthy once all is replaced", () => {
  const budgets = budgetsOf(
    raw({ ...tight, disruptionsAllowed: 0, currentHealthy: 2, disruptedPods: { "web-9": "t" } }),
  );
  budgets.replaced([]);
  assert.equal(budgets.take(pod("web-1")), undefined);
});

test("pods that serve nobody pass, and pods that are not ready where enough others are", () => {
  const none = { ...tight, disruptionsAllowed: 0 };
  for (const one of [
    pod("web-1", { phase: "Pending", isReady: false }),
    pod("web-1", { phase: "Succeeded" }),
    pod("web-1", { metadata: { deletionTimestamp: "x" } }),
    pod("web-1", { isReady: false }),
  ])
    assert.equal(budgetsOf(raw(none)).take(one), undefined);
  const short = { ...none, currentHealthy: 1 };
  const unready = pod("web-1", { isReady: false });
  assert.equal(budgetsOf(raw(short)).take(unready)?.kind, "none-allowed");
  assert.equal(budgetsOf(raw(short, { unhealthyPodEvictionPolicy: "AlwaysAllow" })).take(unready), undefined);
});

test("two budgets of one pod, and one whose spec is not processed, let nothing go", () => {
  assert.equal(budgetsOf(raw(tight), raw(tight, {}, "other")).take(pod("web-1"))?.kind, "several");
  assert.equal(budgetsOf(raw({ ...tight, observedGeneration: 1 })).take(pod("web-1"))?.kind, "unobserved");
});

test("a budget is about pods of its own namespace that it selects", () => {
  const budgets = budgetsOf(raw({ ...tight, disruptionsAllowed: 0 }));
  assert.equal(budgets.take(pod("web-1", { namespace: "elsewhere" })), undefined);
  assert.equal(budgets.take(pod("other-1", { app: "other" })), undefined);
  assert.equal(readBudget(raw(tight, { selector: null })), undefined);
  assert.equal(readBudget(raw(tight, { selector: { matchExpressions: [{ key: "a", operator: "Near" }] } })), undefined);
  assert.equal(readBudget("text"), undefined);
});

test("deletions in one go get what is free, and none settles before the last", () => {
  const guarding = protector("web", { min: 1, cells: { a: 3 } });
  const judged = judgeDeletions(guardOptions(guarding), podsNamed("web", 3), "a");
  assert.deepEqual(
    judged.map(({ answer }) => answer.kind),
    ["admitted", "admitted", "refused"],
  );
  assert.deepEqual(judged[0]?.protectors, [guarding.id]);
  const [obstacle, ...others] = obstaclesOfDeletions(judged, [guarding], "a");
  assert.deepEqual(obstacle?.pods, ["shop/web-3"]);
  assert.deepEqual(others, []);
});

test("an obstacle is told once, with all pods that it keeps", () => {
  const obstacle = { kind: "budget", by: "x", text: "y", cure: "z" } as const;
  const found = gathered([
    { pod: pod("web-1"), obstacles: [obstacle] },
    { pod: pod("web-2"), obstacles: [obstacle, { ...obstacle, text: "other" }] },
  ]);
  assert.deepEqual(
    found.map(({ text, pods }) => [text, ...pods]),
    [
      ["y", "shop/web-1", "shop/web-2"],
      ["other", "shop/web-2"],
    ],
  );
});

test("what a pod says of itself is read: node, controller, criterion, force", () => {
  const read = pod("web-1", {
    node: "node-7",
    annotations: { [annotations.healthCriterion]: "Ready", [annotations.forceDelete]: "" },
  });
  assert.equal(read.node, "node-7");
  assert.equal(read.controllerKind, "ReplicaSet");
  assert.deepEqual(deletionOf(read, "evict", "a"), {
    operation: "evict",
    cellID: "a",
    pod: read.record,
    criterion: "Ready",
    isForced: true,
  });
});

test("a criterion that no annotation may name, and a controller that is none, are as if absent", () => {
  const own = pod("web-1", { annotations: { [annotations.healthCriterion]: "Lovely" }, controllerKind: undefined });
  assert.equal(own.criterion, undefined);
  assert.equal(own.controllerKind, undefined);
  assert.equal(readSimulatedPod({ metadata: {} }), undefined);
});

test("kubectl drain leaves pods of DaemonSets and static pods where they are, but not finished ones", () => {
  assert.equal(skippedByDrain(pod("web-1")), undefined);
  assert.equal(skippedByDrain(pod("agent", { controllerKind: "DaemonSet" })), "daemon-set");
  assert.equal(skippedByDrain(pod("agent", { controllerKind: "DaemonSet", phase: "Failed" })), undefined);
  assert.equal(skippedByDrain(pod("etcd", { annotations: { "kubernetes.io/config.mirror": "x" } })), "mirror");
});

test("kubectl drain asks for a flag for DaemonSets, for data that is lost, and for pods that nobody replaces", () => {
  const volumes = [{ name: "cache", emptyDir: {} }];
  assert.deepEqual(drainFlagsFor(pod("web-1")), []);
  assert.deepEqual(drainFlagsFor(pod("agent", { controllerKind: "DaemonSet", spec: { volumes } })), [
    "--ignore-daemonsets",
  ]);
  assert.deepEqual(drainFlagsFor(pod("web-1", { spec: { volumes }, controllerKind: undefined })), [
    "--delete-emptydir-data",
    "--force",
  ]);
  assert.deepEqual(drainFlagsFor(pod("done", { phase: "Succeeded", controllerKind: undefined })), []);
  assert.deepEqual(drainFlagsFor(pod("etcd", { annotations: { "kubernetes.io/config.mirror": "x" } })), []);
});

function clustersOf(fleet: Fleet, workers: readonly string[] = []): OpenClusters {
  const clientOf = (name: string) => fleet.clusters.get(name)!.client;
  return {
    cores: new Map([["core", clientOf("core")]]),
    workers: new Map(workers.map((name) => [name, clientOf(name)])),
    choice: {
      kubeconfig: undefined,
      cores: new Map(),
      workers: new Map(),
      namespace: undefined,
      leaseNamespace: "podseidon-system",
    },
    objectNamespace: "default",
    close: async () => {},
  };
}

function readsOf(fleet: Fleet) {
  const complaints: string[] = [];
  return {
    complaints,
    clock: fleet.clock,
    signal: fleet.stop.signal,
    complain: (line: string) => void complaints.push(line),
  };
}

test("the cell is the only worker's, or the one that is named; without workers the core has the pods", async () => {
  const fleet = await createFleet("w1", "w2");
  const named = new Map([["cell", ["w2"]]]);
  const cellOf = (options: ReadonlyMap<string, readonly string[]>, workers: readonly string[]): string => {
    const worker = workerOf(options, clustersOf(fleet, workers));
    return worker instanceof Problem ? worker.message : `${worker.cell} ${worker.client.cluster}`;
  };
  assert.equal(cellOf(new Map(), ["w1"]), "w1 w1");
  assert.equal(cellOf(named, ["w1", "w2"]), "w2 w2");
  assert.equal(cellOf(named, []), "w2 core");
  assert.match(cellOf(new Map(), ["w1", "w2"]), /^name the cell of the pods/);
  assert.match(cellOf(named, ["w1"]), /^no --worker=CELL=CONTEXT says which cluster has the pods of cell "w2"$/);
});

test("PodProtectors are read with the silence of their cells", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web");
  await createCellLease(fleet.core, fleet.clock, "a");
  await createCellLease(fleet.core, fleet.clock, "b", { agoMs: 200_000 });
  const read = await readGuards(clustersOf(fleet), undefined, readsOf(fleet));
  assert(read.ok);
  const { protectors, silentForMs, now } = read.value;
  assert.deepEqual(
    protectors.map(({ id }) => id),
    ["core/shop/web"],
  );
  assert.equal(silentForMs("core", "a", "u"), undefined);
  assert.equal(silentForMs("core", "b", "u"), 200_000);
  assert.equal(silentForMs("core", "unknown", "u"), undefined);
  assert.equal(now, fleet.clock.epochMicros());
});

test("without the right to list Leases no cell is silent, which is said", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "b", { agoMs: 200_000 });
  forbid(fleet.core, /leases/);
  const reads = readsOf(fleet);
  const read = await readGuards(clustersOf(fleet), undefined, reads);
  assert(read.ok);
  assert.equal(read.value.silentForMs("core", "b", "u"), undefined);
  assert.match(reads.complaints.join(), /may not list leases.*; no cell is taken to be silent$/);
});

test("pods are read of one node, of one namespace, or with some labels", async () => {
  const fleet = await createFleet();
  await createPod(fleet.core, "web-1", "web");
  await createPod(fleet.core, "web-2", "web", { node: "node-2" });
  const worker = { cell: "a", client: fleet.core.client };
  const namesOf = async (at: Parameters<typeof readPods>[1]): Promise<readonly string[]> => {
    const read = await readPods(worker, at, fleet.stop.signal);
    return read.ok ? read.value.map(({ record }) => record.name) : [read.problem];
  };
  assert.deepEqual(await namesOf({ node: "node-2" }), ["web-2"]);
  assert.deepEqual(await namesOf({ node: "node-1", labelSelector: "app!=web" }), []);
  assert.deepEqual(await namesOf({ namespace: "shop" }), ["web-1", "web-2"]);
  assert.deepEqual(await namesOf({ namespace: "empty" }), []);
});

test("budgets that may not be listed are none, which is said", async () => {
  const fleet = await createFleet();
  forbid(fleet.core, /poddisruptionbudgets/);
  const reads = readsOf(fleet);
  assert.deepEqual(await readBudgets({ cell: "a", client: fleet.core.client }, reads), []);
  assert.equal(reads.complaints.length, 1);
});

test("steps are numbered, say whether they are known or expected, and fit the terminal", () => {
  const steps = [
    { isJudged: true, text: "One." },
    { isJudged: false, text: "Two is longer than the others are." },
  ];
  assert.deepEqual(stepLines(steps, { columns: 40 }), [
    "1. known     One.\n",
    "2. expected  Two is longer than the\n             others are.\n",
  ]);
});

const terminal = { columns: 80, isColoured: false };
const obstacle = {
  kind: "undrainable",
  by: "PodProtector core/shop/api",
  text: "all must stay",
  cure: "scale",
} as const;

test("an obstacle says who, what, which pods and what to do", () => {
  const pods = ["shop/api-1", "shop/api-2", "shop/api-3", "shop/api-4"];
  assert.deepEqual(obstacleLines([{ ...obstacle, pods }], terminal), [
    "\nPodProtector core/shop/api: all must stay\n" +
      "  keeps shop/api-1, shop/api-2, shop/api-3 and 1 more\n  to do: scale\n",
  ]);
});

test("no more than a screen of obstacles is shown, in red where colours are wanted", () => {
  const many = Array.from({ length: 22 }, () => ({ ...obstacle, pods: ["shop/api-1"] }));
  const lines = obstacleLines(many, { columns: 80, isColoured: true });
  assert.equal(lines.length, 21);
  assert.match(lines[0] ?? "", /^\n\u001b\[31mPodProtector/);
  assert.equal(lines.at(-1), "\nAnd 2 more; -o json has them all.\n");
});

test("names of pods cannot change the terminal", () => {
  const [text = ""] = obstacleLines([{ ...obstacle, pods: ["shop/\u001b[2J"] }], terminal);
  assert.doesNotMatch(text, /\u001b/);
});
