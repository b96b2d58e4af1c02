/** Whose reviews are held, how many, and in which order they go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import {
  cell,
  deleteReview,
  endReview,
  evictReview,
  type Json,
  pod,
  podGarbageCollector,
  protector,
} from "../support/objects.ts";
import { type Replica, settle, world } from "../support/replica.ts";
import { fullWorld, ownedReview, sent, settled, timeOf } from "../support/held.ts";
import { workerOf } from "../support/worker.ts";
import { type QuotaFigures } from "../../../../src/accounting/reserve/quota-figures.ts";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { holdabilityOf, holdReasonOf } from "../../../../src/webhook/decide/hold-rule.ts";
import { type RefusingProtector } from "../../../../src/webhook/decide/refusals/refusal.ts";
import { type Deletion } from "../../../../src/webhook/deletion.ts";

const scheduler = "system:kube-scheduler";
const taintEviction = "system:serviceaccount:kube-system:node-controller";

/** Whether the review waits after 10 ms. */
async function isHeld(
  made: { clock: { advance: (ms: number) => Promise<void> }; replica: Replica },
  body: unknown,
  cellID = "c1",
) {
  const { state } = sent(made.replica, body, { cellID });
  await made.clock.advance(10);
  return state.done === undefined;
}

test("the scheduler, pod garbage collection and dry runs are never held", async () => {
  const reviews: Readonly<Record<string, Json>> = {
    scheduler: ownedReview("p", "rs-1", scheduler),
    "the collector's DELETE": ownedReview("p", "rs-1", podGarbageCollector),
    "the collector's end of a pod": endReview(pod("p", { nodeName: "node-1" })),
    "the same without credentials of its own": endReview(pod("p"), {
      userInfo: { username: "system:kube-controller-manager" },
    }),
    "a dry run": deleteReview(pod("p"), { dryRun: true }),
  };
  for (const [who, review] of Object.entries(reviews)) {
    const made = await fullWorld();
    assert.deepEqual(await timeOf(made, review), { allowed: false, elapsedMs: 0 }, who);
    assert.equal(made.replica.metrics.count("webhook_held_review"), 0, who);
  }
});

test("what is allowed anyway is not held: a forced deletion, and everything with --webhook-dry-run", async () => {
  const forced = deleteReview(pod("p", { annotations: { [annotations.forceDelete]: "" } }));
  const made = await fullWorld();
  // Another replica has had its time after the first write.
  await made.clock.advance(10);
  assert.ok((await timeOf(made, forced)).elapsedMs < 20);
  const dry = world([protector({ cells: [cell("c1", 81)] })], { dryRun: true });
  await dry.replica.review(deleteReview(pod("first")));
  await dry.clock.advance(10);
  assert.ok((await timeOf(dry, ownedReview("p"))).elapsedMs < 20);
});

test("of one caller in one cell, the reviews of three controller owners are held, and all of these", async () => {
  const made = await fullWorld();
  for (const owner of ["a", "b", "c", "a", "c"])
    assert.equal(await isHeld(made, ownedReview(`p-${owner}`, owner)), true);
  assert.equal(await isHeld(made, ownedReview("p-d", "d")), false);
  assert.equal(await isHeld(made, deleteReview(pod("lone"))), false);
  assert.equal(await isHeld(made, ownedReview("p-a2", "a")), true);
  // The limit is that of a caller, who has so few workers.
  assert.equal(
    await isHeld(made, ownedReview("p-d", "d", "system:serviceaccount:kube-system:statefulset-controller")),
    true,
  );
  await made.clock.advance(1_000);
  assert.equal(await isHeld(made, ownedReview("p-d", "d")), true);
});

test("each cell has a limit of controller owners of its own", async () => {
  const made = world([protector({ cells: [cell("c1", 81), cell("c2", 0)] })]);
  await made.replica.review(deleteReview(pod("first")));
  for (const owner of ["a", "b", "c"]) assert.equal(await isHeld(made, ownedReview(`p-${owner}`, owner)), true);
  assert.equal(await isHeld(made, ownedReview("p-d", "d")), false);
  assert.equal(await isHeld(made, ownedReview("p-d", "d"), "c2"), true);
});

test("pods without a controller, or with an odd one, stand for themselves", async () => {
  const made = await fullWorld();
  const odd = (name: string, ownerReferences: unknown): Json => {
    const raw = pod(name);
    return deleteReview({ ...raw, metadata: { ...(raw["metadata"] as Json), ownerReferences } });
  };
  assert.equal(await isHeld(made, odd("a", [{ uid: "u".repeat(1_000), controller: true }])), true);
  assert.equal(await isHeld(made, odd("b", "none")), true);
  assert.equal(await isHeld(made, odd("c", [{ uid: "rs-1", controller: "yes" }, null])), true);
  assert.equal(await isHeld(made, odd("d", [{ uid: 7, controller: true }])), false);
});

const evictedPods = workerOf(({ path }) => pod(path.slice(path.lastIndexOf("/") + 1)));

test("evictions and taint evictions are held besides the limit of owners, up to 64 reviews of a replica", async () => {
  const made = await fullWorld(evictedPods);
  for (let index = 0; index < 30; index += 1) {
    assert.equal(await isHeld(made, evictReview(`e${index}`)), true);
    assert.equal(await isHeld(made, ownedReview(`t${index}`, `rs-${index}`, taintEviction)), true);
  }
  for (const owner of ["a", "b", "c"]) assert.equal(await isHeld(made, ownedReview(`p-${owner}`, owner)), true);
  assert.equal(await isHeld(made, evictReview("last")), true);
  assert.equal(await isHeld(made, evictReview("one-more")), false);
  assert.equal(await isHeld(made, ownedReview("p-a2", "a")), false);
});

test("an eviction at a generated floor is not held: nobody evicts because a workload was scaled down", async () => {
  const made = world([protector({ cells: [cell("c1", 80)] })], evictedPods);
  assert.equal(await isHeld(made, evictReview("p")), false);
});

test("who was held first goes first, before those that have just come", async () => {
  const made = await fullWorld();
  const { clock, core, replica } = made;
  const line: ReturnType<typeof sent>[] = [];
  for (const name of ["a", "b", "c"]) {
    line.push(sent(replica, ownedReview(name)));
    await clock.advance(10);
  }
  const order: number[][] = [];
  for (let round = 0; round < 3; round += 1) {
    settled(core, 81);
    // It finds the quota that has just come back, too.
    void sent(replica, ownedReview(`newcomer-${round}`));
    await clock.advance(100);
    order.push(line.flatMap(({ state }, index) => (state.done?.allowed === true ? [index] : [])));
  }
  assert.deepEqual(order, [[0], [0, 1], [0, 1, 2]]);
});

test("all that fit go in one write, however many are held", async () => {
  const { clock, core, replica } = await fullWorld();
  const line = Array.from({ length: 20 }, (_, index) => sent(replica, ownedReview(`p${index}`)));
  await clock.advance(10);
  const before = core.writes;
  settled(core, 90);
  await clock.advance(100);
  assert.equal(core.writes, before + 1);
  assert.deepEqual(
    line.map(({ state }) => state.done?.allowed === true),
    line.map((_, index) => index < 10),
  );
  await settle(clock, Promise.all(line.map(({ answer }) => answer)));
  await replica.webhook.drain();
  assert.equal(clock.pendingTimers, 0);
});

const record = readPodRecord(pod("p"))!;
const deletion: Deletion = { operation: "delete", cellID: "c1", pod: record, criterion: undefined, isForced: false };
const eviction: Deletion = { ...deletion, operation: "evict" };
const figures = (unconfirmed: number): QuotaFigures => ({
  criterion: "Available",
  required: 2,
  aggregated: 2,
  total: 2,
  unconfirmed,
  outstanding: unconfirmed,
  cells: [],
});
const owner = { name: "Deployment ns/web", fields: "", undone: "", hasVanished: false, isUndrainable: false };

function reasonOf(verdict: RefusingProtector["verdict"], more: Partial<RefusingProtector> = {}, of = deletion) {
  return holdReasonOf([{ id: "core/ns/web", verdict, owner: undefined, ...more }], of);
}

test("promised deletions may settle within a moment, be it quota or maxConcurrentLag that they take", () => {
  for (const asked of [deletion, eviction])
    for (const cause of ["unconfirmed", "lag-limit"] as const)
      assert.equal(reasonOf({ kind: "retry", cause, figures: figures(1) }, {}, asked), "promised");
});

test("a full history, silent and uncounted cells, and what is invalid do not pass within a moment", () => {
  const verdicts: readonly RefusingProtector["verdict"][] = [
    { kind: "retry", cause: "full-buffer", figures: figures(1) },
    { kind: "retry", cause: "full-status", figures: figures(1) },
    { kind: "cell-silent", silentForMs: 1, figures: figures(1) },
    { kind: "counts-pending", awaited: ["c1"], figures: figures(0) },
    { kind: "unusable", reason: "odd" },
  ];
  for (const verdict of verdicts) assert.equal(reasonOf(verdict, { owner }), undefined, verdict.kind);
});

test("a generated floor may be about to fall: for a deletion, with nothing promised and no silent cell", () => {
  const atFloor = { kind: "rejected", figures: figures(0) } as const;
  assert.equal(reasonOf(atFloor, { owner }), "floor");
  assert.equal(reasonOf(atFloor), undefined);
  assert.equal(reasonOf(atFloor, { owner: { ...owner, hasVanished: true } }), undefined);
  assert.equal(reasonOf(atFloor, { owner }, eviction), undefined);
  assert.equal(reasonOf({ ...atFloor, figures: figures(1) }, { owner }), undefined);
  assert.equal(reasonOf({ ...atFloor, missed: ["c2"] }, { owner }), undefined);
});

test("of several that refuse, each has to pass, and the shortest hold counts", () => {
  const promised: RefusingProtector = {
    id: "core/ns/a",
    verdict: { kind: "retry", cause: "unconfirmed", figures: figures(1) },
    owner: undefined,
  };
  const floor: RefusingProtector = { id: "core/ns/b", verdict: { kind: "rejected", figures: figures(0) }, owner };
  assert.equal(holdReasonOf([], deletion), undefined);
  assert.equal(holdReasonOf([promised, promised], deletion), "promised");
  assert.equal(holdReasonOf([promised, floor], deletion), "floor");
  assert.equal(holdReasonOf([promised, { ...floor, owner: undefined }], deletion), undefined);
});

test("who is held at all, and within the limit of owners, depends on the caller", () => {
  const account = (name: string): string => `system:serviceaccount:kube-system:${name}`;
  assert.equal(holdabilityOf(deletion, account("replicaset-controller")), "by-owner");
  assert.equal(holdabilityOf(deletion, "system:kube-controller-manager"), "by-owner");
  assert.equal(holdabilityOf(deletion, account("node-controller")), "always");
  assert.equal(holdabilityOf(eviction, "somebody"), "always");
  for (const user of ["system:kube-scheduler", account("pod-garbage-collector")])
    for (const asked of [deletion, eviction]) assert.equal(holdabilityOf(asked, user), "never");
  assert.equal(holdabilityOf({ ...deletion, lostNode: "node-1" }, "system:kube-controller-manager"), "never");
});
