import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations, finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { readBudget } from "../../../../src/commands/simulate/budgets.ts";
import {
  type Answer,
  type GonePod,
  Guard,
  readGuarding,
  settled,
  withObject,
} from "../../../../src/commands/simulate/guard.ts";
import { type Obstacle, obstaclesOf } from "../../../../src/commands/simulate/obstacles.ts";
import { deletionOf, type SimulatedPod } from "../../../../src/commands/simulate/simulated-pods.ts";
import { countingMax } from "../../../../src/webhook/protector/protectors.ts";
import { type JsonObject } from "../../../double/index.ts";
import {
  guardOptions,
  now,
  pod,
  type PodFields,
  podsNamed,
  protector,
  type ProtectorFields,
  rawProtector,
} from "./support.ts";

const shadow = { annotations: { [annotations.mode]: "shadow" } };

function guardOf(fields: ProtectorFields): Guard {
  return new Guard(guardOptions(protector("web", fields)));
}

function evict(guard: Guard, one: SimulatedPod, cellID = "a"): Answer {
  return guard.ask(deletionOf(one, "evict", cellID));
}

/** "admitted WHY", or the kinds of the refusals. */
function said(answer: Answer): string {
  if (answer.kind === "admitted") return `admitted ${answer.why}`;
  return answer.refusals.map(({ id, verdict }) => `${id} ${verdict.kind}`).join(", ");
}

test("deletions are admitted down to the floor, one after the other", () => {
  const guard = guardOf({ min: 2, cells: { a: 3, b: 1 } });
  const answers = podsNamed("web", 3).map((one) => said(evict(guard, one)));
  assert.deepEqual(answers, ["admitted free", "admitted free", "core/shop/web retry"]);
  assert.equal(guard.figuresOf("core/shop/web" as never)?.unconfirmed, 2);
});

test("a pod that is promised already costs nothing more", () => {
  const guard = guardOf({ min: 2, cells: { a: 3 }, promised: { a: ["uid-web-1"] } });
  assert.equal(said(evict(guard, pod("web-1"))), "admitted free");
  assert.equal(said(evict(guard, pod("web-2"))), "core/shop/web retry");
});

test("pods that nothing protects, that have ended, that are forced or not available pass at the floor", () => {
  const guard = guardOf({ min: 3, cells: { a: 3 } });
  assert.equal(said(evict(guard, pod("other", { app: "other" }))), "admitted unguarded");
  assert.equal(said(evict(guard, pod("web-1", { namespace: "elsewhere" }))), "admitted unguarded");
  assert.equal(said(evict(guard, pod("web-1", { phase: "Succeeded" }))), "admitted ended");
  assert.equal(said(evict(guard, pod("web-1", { metadata: { deletionTimestamp: "x" } }))), "admitted ended");
  assert.equal(said(evict(guard, pod("web-1", { isReady: false }))), "admitted unneeded");
  assert.equal(said(evict(guard, pod("web-2", { annotations: { [annotations.forceDelete]: "" } }))), "admitted forced");
  assert.equal(said(evict(guard, pod("web-3"))), "core/shop/web rejected");
});

test("without a floor everything passes", () => {
  assert.equal(said(evict(guardOf({ min: 0, cells: { a: 1 } }), pod("web-1"))), "admitted unneeded");
});

test("all PodProtectors have to agree, and none is charged when one refuses", () => {
  const one = protector("web", { min: 1, cells: { a: 3 } });
  const selector = { matchLabels: { app: "web" } };
  const other = protector("all", { min: 3, cells: { a: 3 }, spec: { selector } });
  const guard = new Guard(guardOptions(one, other));
  assert.equal(said(evict(guard, pod("web-1"))), "core/shop/all rejected");
  assert.equal(guard.figuresOf(one.id)?.unconfirmed, 0);
  assert.deepEqual(
    guard.protectorsOf(pod("web-1").record).map(({ id }) => id),
    [other.id, one.id],
  );
});

test("PodProtectors of several cores have to agree", () => {
  const east = protector("web", { core: "east", min: 3, cells: { a: 3 } });
  const guard = new Guard(guardOptions(protector("web", { min: 1, cells: { a: 3 } }), east));
  assert.equal(said(evict(guard, pod("web-1"))), "east/shop/web rejected");
});

test("one in shadow refuses nothing, is charged, and says what it would have refused", () => {
  const guard = guardOf({ min: 2, cells: { a: 3 }, metadata: shadow });
  const answers = podsNamed("web", 2).map((one) => evict(guard, one));
  const ids = answers.map((answer) => (answer.kind === "admitted" ? answer.shadowed.map(({ id }) => id) : ["refused"]));
  assert.deepEqual(ids, [[], ["core/shop/web"]]);
  assert.equal(guard.figuresOf("core/shop/web" as never)?.unconfirmed, 2);
});

test("an invalid PodProtector refuses evictions, and deletions of pods that may be available", () => {
  const guard = guardOf({ spec: { minAvailable: "many" } });
  assert.equal(said(evict(guard, pod("web-1", { isReady: false }))), "core/shop/web unusable");
  assert.equal(said(guard.ask(deletionOf(pod("web-1"), "delete", "a"))), "core/shop/web unusable");
  assert.equal(said(guard.ask(deletionOf(pod("web-1", { isReady: false }), "delete", "a"))), "admitted unneeded");
  assert.equal(said(evict(guard, pod("web-1", { annotations: { [annotations.forceDelete]: "" } }))), "admitted forced");
  assert.equal(guard.figuresOf("core/shop/web" as never), undefined);
});

test("a pod of a cell that nobody has counted, or that is silent, is kept", () => {
  assert.equal(said(evict(guardOf({ min: 1, cells: { b: 5 } }), pod("web-1"))), "core/shop/web counts-pending");
  const options = guardOptions(protector("web", { min: 1, cells: { a: 2, b: 5 } }));
  const guard = new Guard({ ...options, silentForMs: (_core, cell) => (cell === "a" ? 200_000 : undefined) });
  assert.equal(said(evict(guard, pod("web-1"))), "core/shop/web cell-silent");
});

test("a pod that more PodProtectors count than can be asked is kept", () => {
  const selector = { matchLabels: { app: "web" } };
  const many = Array.from({ length: countingMax + 1 }, (_, index) =>
    protector(`p${index}`, { min: 0, cells: { a: 5 }, spec: { selector } }),
  );
  assert.match(said(evict(new Guard(guardOptions(...many)), pod("web-1"))), /^core\/shop\/p0 crowd/);
  assert.equal(said(evict(new Guard(guardOptions(...many.slice(1))), pod("web-1"))), "admitted unneeded");
});

test("when pods are replaced, what was promised is free again", () => {
  const guard = guardOf({ min: 2, cells: { a: 3 } });
  assert.equal(said(evict(guard, pod("web-1"))), "admitted free");
  guard.replaced([{ cellID: "a", pod: pod("web-1").record, isReplaced: true }]);
  assert.equal(said(evict(guard, pod("web-2"))), "admitted free");
  guard.replaced([{ cellID: "a", pod: pod("web-2").record, isReplaced: false }]);
  assert.equal(said(evict(guard, pod("web-3"))), "core/shop/web rejected");
});

test("a valid PodProtector is taken with its counting selector and the name of its core", () => {
  const aggregationSelector = { matchLabels: { app: "web" } };
  const read = readGuarding("east", rawProtector("web", { spec: { aggregationSelector } }));
  assert(read !== undefined);
  assert.equal(read.id, "east/shop/web");
  assert.deepEqual(read.selector, aggregationSelector);
  assert.equal(read.isShadow, false);
  assert.equal(read.state.kind, "valid");
});

test("a released PodProtector is not in force, whether it is valid or not", () => {
  const metadata = { annotations: { [annotations.released]: "true" } };
  assert.equal(readGuarding("core", rawProtector("web", { metadata })), undefined);
  assert.equal(readGuarding("core", rawProtector("web", { metadata, spec: { minAvailable: "x" } })), undefined);
});

test("an invalid PodProtector keeps what the valid part of its selector selects", () => {
  const read = readGuarding("core", rawProtector("web", { spec: { minAvailable: "many" } }));
  assert.equal(read?.state.kind, "unusable");
  assert.deepEqual(read?.selector.matchLabels, { app: "web" });
});

test("a PodProtector in shadow says so", () => {
  const metadata = { annotations: { [annotations.mode]: "shadow" } };
  assert.equal(readGuarding("core", rawProtector("web", { metadata }))?.isShadow, true);
});

test("what is no object with a name is passed over", () => {
  assert.equal(readGuarding("core", null), undefined);
  assert.equal(readGuarding("core", { metadata: { name: "web" } }), undefined);
});

test("another status of the same object is judged by", () => {
  const { state } = protector("web", { cells: { a: 3 } });
  assert(state.kind === "valid");
  const { status: _, ...without } = state.view.protector;
  assert.equal(withObject(state.view, without).protector.status, undefined);
});

function after(fields: ProtectorFields, ...gone: readonly GonePod[]) {
  const { state } = protector("web", fields);
  assert(state.kind === "valid");
  return settled(state.view.protector, gone, now).status;
}

function gone(fields: PodFields = {}, isReplaced = true): GonePod {
  return { cellID: "a", pod: pod("web-1", fields).record, isReplaced };
}

test("a pod that was available and is replaced changes no count, and nothing is promised any more", () => {
  const status = after({ cells: { a: 3, b: 2 }, promised: { a: ["x"], b: ["y"] } }, gone());
  assert.equal(status?.summary.aggregatedAvailableReplicas, 5);
  assert.equal(status?.summary.estimatedAvailableReplicas, 5);
});

test("in place of a pod that was not available there is one that is", () => {
  const status = after({ cells: { a: 2 }, totals: { a: 3 } }, gone({ isReady: false }));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 3);
  assert.equal(status?.cells[0]?.aggregation?.readyReplicas, 3);
  assert.equal(status?.cells[0]?.aggregation?.totalReplicas, 3);
});

test("a pod that nobody replaces is missing from then on", () => {
  const status = after({ cells: { a: 3 } }, gone({}, false));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 2);
  assert.equal(status?.cells[0]?.aggregation?.totalReplicas, 2);
});

test("a pod that had ended already was not counted, and changes nothing", () => {
  const status = after({ cells: { a: 3 } }, gone({ phase: "Failed" }), gone({ metadata: { deletionTimestamp: "x" } }));
  assert.equal(status?.cells[0]?.aggregation?.availableReplicas, 3);
});

test("a pod that is too young is not counted as available, and its replacement is", () => {
  const young = gone({ metadata: {} });
  const spec = { minReadySeconds: 2 * 3600 };
  assert.equal(after({ cells: { a: 2 }, totals: { a: 3 }, spec }, young)?.summary.aggregatedAvailableReplicas, 3);
});

test("only the counts of the pod's cell change, and none are made up", () => {
  const { state } = protector("web", { cells: { b: 2 } });
  assert(state.kind === "valid");
  assert.equal(settled(state.view.protector, [gone({ isReady: false })], now).status?.cells[0]?.cellID, "b");
  assert.equal(after({ cells: { b: 2 } }, gone({ isReady: false }))?.summary.aggregatedAvailableReplicas, 2);
  const { status: _, ...uncounted } = state.view.protector;
  assert.equal(settled(uncounted, [gone()], now), uncounted);
});

test("a pod that the counts leave out goes at the floor, and changes no count", () => {
  const guarding = protector("web", { min: 3, cells: { a: 3 } });
  assert(guarding.state.kind === "valid");
  const { view } = guarding.state;
  const { spec, status } = view.protector;
  const [{ cellID, aggregation } = { cellID: "" }] = status?.cells ?? [];
  assert(aggregation !== undefined && status !== undefined);
  const cells = [{ cellID, aggregation: { ...aggregation, countedOwners: ["Job.batch"] } }];
  const left = { ...view.protector, spec: { ...spec, foreignOwners: ["Job.batch"] }, status: { ...status, cells } };
  const state = { kind: "valid", view: withObject(view, left) } as const;
  const guard = new Guard(guardOptions({ ...guarding, state }));
  const ofJob = pod("nightly", {
    metadata: { ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name: "n", uid: "n", controller: true }] },
  });
  assert.equal(said(evict(guard, ofJob)), "admitted unneeded");
  assert.equal(said(evict(guard, pod("web-1"))), "core/shop/web rejected");
  const after = settled(left, [{ cellID, pod: ofJob.record, isReplaced: false }], now);
  assert.equal(after.status?.summary.aggregatedAvailableReplicas, 3);
});

interface Asked extends ProtectorFields {
  readonly silent?: string;
  readonly isSecond?: boolean;
}

function obstacleOf({ silent, isSecond = false, ...fields }: Asked): Obstacle {
  const guarding = protector("web", fields);
  const silentForMs = (_core: string, cell: string) => (cell === silent ? 240_000 : undefined);
  const guard = new Guard({ ...guardOptions(guarding), silentForMs });
  if (isSecond) guard.ask(deletionOf(pod("web-0"), "evict", "a"));
  const answer = guard.ask(deletionOf(pod("web-1"), "evict", "a"));
  assert(answer.kind === "refused");
  const refused = { protectors: new Map([[guarding.id, guarding]]), cellID: "a" };
  const [obstacle] = obstaclesOf({ by: "podprotectors", refusals: answer.refusals }, refused);
  assert(obstacle !== undefined);
  assert.equal(obstacle.by, "PodProtector core/shop/web");
  return obstacle;
}

const nothing = { protectors: new Map(), cellID: "a" };
const generated: JsonObject = {
  finalizers: [finalizer],
  labels: { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" },
};

function holds(type: string): JsonObject {
  return { type, status: "True", reason: "x", message: "", lastTransitionTime: "t" };
}

test("where all pods must stay, the owner's fields are what can be changed", () => {
  const fields = "spec.replicas and spec.strategy.rollingUpdate.maxUnavailable of Deployment shop/web";
  assert.deepEqual(obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated, conditions: [holds("Undrainable")] }), {
    kind: "undrainable",
    by: "PodProtector core/shop/web",
    text: "all of its 3 pods must stay",
    cure: `let more be away: ${fields}; or cordon the node, and kubectl -n shop rollout restart deployment/web`,
  });
  const short = obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated });
  assert.equal(short.cure, `find out why there are no more pods, or let more be away: ${fields}`);
  assert.equal(obstacleOf({ min: 1, cells: { a: 1 } }).text, "its only pod must stay");
  const above = obstacleOf({ min: 4, cells: { a: 3 } });
  assert.equal(above.text, "4 must stay, and there are 3 pods");
  assert.equal(above.cure, "add a replica, or lower spec.minAvailable of the PodProtector");
});

test("where pods are not available, it is said how many are missing", () => {
  const { kind, text, cure } = obstacleOf({ min: 3, cells: { a: 3 }, totals: { a: 5 } });
  assert.equal(kind, "too-few-available");
  assert.equal(text, "3 must stay, and 3 of 5 pods are available");
  assert.match(cure, /^find out why a pod is not available, or /);
  assert.match(obstacleOf({ min: 3, cells: { a: 2 }, totals: { a: 5 } }).cure, /^find out why 2 pods are not/);
});

test("a floor whose owner vanished is not to be lowered", () => {
  const { cure } = obstacleOf({ min: 3, cells: { a: 3 }, metadata: generated, conditions: [holds("Dangling")] });
  assert.equal(
    cure,
    "find out why there are no more pods, or create Deployment shop/web again, which vanished without being deleted",
  );
});

test("cells that are silent or not counted are named", () => {
  const own = obstacleOf({ min: 1, cells: { a: 3 }, silent: "a" });
  assert.equal(own.kind, "cell-unknown");
  assert.equal(own.text, "nothing has been heard from the cell of the pod for 4 min");
  assert.match(own.cure, /podseidon cells keep a --for 2h$/);
  const other = obstacleOf({ min: 3, cells: { a: 3, b: 3 }, silent: "b" });
  assert.equal(other.text, "cell b has been silent for 4 min, so its pods do not count");
  assert.equal(obstacleOf({ min: 1, cells: { b: 3 } }).text, "nobody has counted its pods in cell a");
});

test("what stands in the way for a while is told apart", () => {
  assert.equal(obstacleOf({ min: 1, cells: { a: 2 }, isSecond: true }).kind, "promised");
  const admissionHistoryConfig = { maxConcurrentLag: 1 };
  const lag = obstacleOf({ min: 1, cells: { a: 9 }, isSecond: true, spec: { admissionHistoryConfig } });
  assert.equal(lag.cure, "raise maxConcurrentLag");
});

test("an invalid PodProtector says why it is", () => {
  const { kind, text } = obstacleOf({ spec: { minAvailable: "x" } });
  assert.equal(kind, "unusable");
  assert.match(text, /^it is invalid: spec\.minAvailable/);
});

test("a crowd of PodProtectors is told as such", () => {
  const refusals = [{ id: "core/shop/p0" as never, verdict: { kind: "crowd" } }] as const;
  const [obstacle] = obstaclesOf({ by: "podprotectors", refusals }, nothing);
  assert.equal(obstacle?.text, "more PodProtectors count the pod than can be asked");
});

test("a PodDisruptionBudget says what it needs and has", () => {
  const budget = readBudget({
    metadata: { namespace: "shop", name: "web" },
    spec: { selector: {} },
    status: { desiredHealthy: 3, currentHealthy: 3, expectedPods: 3 },
  });
  assert(budget !== undefined);
  const told = (kind: "none-allowed" | "several" | "unobserved", changes = {}): Obstacle | undefined =>
    obstaclesOf({ by: "budget", refusal: { kind, budgets: [{ ...budget, ...changes }] } }, nothing)[0];
  assert.deepEqual(told("none-allowed"), {
    kind: "budget",
    by: "PodDisruptionBudget shop/web",
    text: "it needs 3 healthy pods of 3, and has 3",
    cure: "add a replica, or let the budget allow one disruption",
  });
  assert.equal(told("none-allowed", { desired: 2, healthy: 2 })?.cure, "find out why pods are not ready");
  assert.match(told("several")?.text ?? "", /several budgets: web$/);
  assert.equal(told("unobserved")?.text, "it is not processed yet");
});
