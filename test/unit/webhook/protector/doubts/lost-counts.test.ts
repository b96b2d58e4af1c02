import assert from "node:assert/strict";
import { test } from "node:test";
import { NewestState } from "../../../../../src/webhook/protector/newest-state.ts";
import { counts, marks, version as versionOf } from "../../../accounting/samples.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { type ProtectorView } from "../../../../../src/webhook/protector/protector-view.ts";
import { cell, deleteReview, type Json, pod, protector } from "../../support/objects.ts";
import { world } from "../../support/replica.ts";
import { protectorView } from "../../support/views.ts";

function view(version: number, cells: readonly Json[] = []): ProtectorView {
  return protectorView({ uid: "uid-1", cells }, version);
}

const newestState = (first: ProtectorView) => new NewestState(first, marks, createVirtualClock());

const isLost = (state: NewestState, cellID: string, workerVersion: number): boolean =>
  state.doubtOf({ cellID, aggregation: counts(1, { resourceVersion: versionOf(workerVersion) }) }) === "lost";

/** The worker version up to which the counts of a cell are lost; 0 = none are. */
function lostUpTo(state: NewestState, cellID: string): number {
  let versions = 0;
  while (versions < 1000 && isLost(state, cellID, versions + 1)) versions += 1;
  return versions;
}

const twoCells = () =>
  view(50, [cell("c1", 100, { resourceVersion: "900" }), cell("c2", 100, { resourceVersion: "70" })]);

test("a live GET below what was known shows a restored core, and loses counts up to the highest worker version", () => {
  const known = twoCells();
  const state = newestState(known);
  assert.equal(state.readLive(view(40, [cell("c1", 100, { resourceVersion: "800" })]), known), true);
  assert.equal(state.view.resourceVersion, "40");
  assert.deepEqual([lostUpTo(state, "c1"), lostUpTo(state, "c2")], [900, 70]);
});

test("newer counts of a cell lift its block", () => {
  const known = twoCells();
  const state = newestState(known);
  state.readLive(view(40), known);
  state.watched(view(41, [cell("c1", 100, { resourceVersion: "900" })]));
  assert.deepEqual([lostUpTo(state, "c1"), lostUpTo(state, "c2")], [900, 70]);
  state.watched(view(42, [cell("c1", 100, { resourceVersion: "901" })]));
  assert.deepEqual([lostUpTo(state, "c1"), lostUpTo(state, "c2")], [0, 70]);
});

test("a recount lifts the block, although the versions of a restored worker begin below", () => {
  const known = view(50, [cell("c1", 100, { resourceVersion: "900" })]);
  const state = newestState(known);
  state.readLive(view(40, [cell("c1", 100, { resourceVersion: "300" })]), known);
  state.watched(view(41, [cell("c1", 99, { resourceVersion: "301" })]));
  assert.equal(lostUpTo(state, "c1"), 900);
  state.watched(view(42, [cell("c1", 99, { resourceVersion: "302", recountedAt: "2026-01-01T00:00:00.000000Z" })]));
  assert.equal(lostUpTo(state, "c1"), 0);
});

test("counts of a lower worker version show a restored core, although the object was written since", () => {
  const state = newestState(view(50, [cell("c1", 2, { resourceVersion: "600" })]));
  state.watched(view(1051, [cell("c1", 3, { resourceVersion: "500" })]));
  assert.equal(lostUpTo(state, "c1"), 600);
  assert.equal(state.view.resourceVersion, "1051");
});

test("lower counts that the aggregator marked as a recount are taken", () => {
  const mark = (second: number): Json => ({ recountedAt: `2026-01-01T00:00:0${second}.000000Z` });
  const state = newestState(view(50, [cell("c1", 2, { resourceVersion: "600", ...mark(1) })]));
  state.watched(view(51, [cell("c1", 3, { resourceVersion: "500", ...mark(2) })]));
  assert.equal(lostUpTo(state, "c1"), 0);
  // A backup from before the second recount.
  state.watched(view(52, [cell("c1", 4, { resourceVersion: "490", ...mark(1) })]));
  assert.equal(lostUpTo(state, "c1"), 500);
});

test("a watch that goes backwards loses no counts", () => {
  const state = newestState(view(50, [cell("c1", 100)]));
  state.watched(view(40));
  assert.equal(lostUpTo(state, "c1"), 0);
});

test("another object under the name has lost nothing", () => {
  const known = view(50, [cell("c1", 100)]);
  const state = newestState(known);
  state.readLive(view(40), known);
  assert.equal(lostUpTo(state, "c1"), 1000);
  state.readLive(protectorView({ uid: "uid-2" }, 60), state.view);
  assert.equal(lostUpTo(state, "c1"), 0);
});

const before = (workerVersion: string, buckets: readonly Json[] = []) =>
  protector({ cells: [cell("c1", 100, { resourceVersion: workerVersion }, buckets)] });

test("after a restore of the core, quota is refused until counts above the known worker version arrive", async () => {
  const { core, replica } = world([before("900")]);
  core.watches = false;
  for (let index = 0; index < 3; index++) await replica.review(deleteReview(pod(`p${index}`)));
  core.restore(before("890"), 2);

  const refused = await replica.review(deleteReview(pod("q")));
  assert.equal(refused.code, 429);
  assert.match(refused.message, /has no counts of cell "c1"/);
  assert.ok(replica.log.lines.some(({ message }) => message.includes("was the core restored?")));
  const forced = pod("f", { annotations: { "podseidon.kubewharf.io/force-delete": "" } });
  assert.equal((await replica.review(deleteReview(forced))).allowed, true);

  core.restore(before("900"), 30);
  core.deliver();
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, false);
  core.restore(before("901"), 31);
  core.deliver();
  assert.equal((await replica.review(deleteReview(pod("q")))).allowed, true);
});

test("the object is read live when the watch went backwards, even if the remembered state would refuse", async () => {
  const full = before("900", [
    { startTime: "2026-01-01T00:00:00Z", podUID: "u", podResourceVersion: "1", counter: 20 },
  ]);
  const { core, replica } = world([full]);
  core.watches = false;
  for (let index = 0; index < 5; index++) core.update("ns/web", () => {});
  core.deliver();
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, false);
  assert.equal(core.requests.length, 0);
  core.restore(before("901"), 3);
  core.deliver();
  assert.equal((await replica.review(deleteReview(pod("p")))).allowed, true);
  assert.equal(core.requests[0]?.method, "GET");
});
