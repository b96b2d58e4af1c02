import assert from "node:assert/strict";
import { test } from "node:test";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import { decodeWatched } from "../../../../../src/commands/dashboard/model/protector-row.ts";
import { decodeEvent } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { entriesDefault, View } from "../../../../../src/commands/dashboard/model/view.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { eventBody } from "../events.ts";

const query = { words: "", state: undefined, page: 1, entries: entriesDefault, entriesSince: 0 };

function protector(name: string) {
  const metadata = { namespace: "shop", name, uid: name, resourceVersion: "1" };
  const spec = { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: name } } };
  const watched = decodeWatched({ metadata, spec });
  assert(watched?.read.ok === true);
  return watched;
}

function broken(name: string) {
  return { ...protector(name), read: { ok: false, reason: "broken" } } as const;
}

function stateWith(count: number) {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  for (let index = 0; index < count; index++) {
    state.fleet.set("core", protector(`p${String(index).padStart(5, "0")}`), undefined);
  }
  return state;
}

function addEvent(state: DashboardState, name: string, second: number) {
  const { metadata, ...others } = eventBody({ name, second }) as { metadata: object };
  state.timeline.set("core", decodeEvent({ ...others, metadata: { ...metadata, uid: name, resourceVersion: "1" } })!);
}

test("the first update is whole, and without a change there is no second", () => {
  const view = new View(stateWith(2), query);
  const first = view.update(5)!;
  assert.equal(first.isWhole, true);
  assert.equal(first.rows?.length, 2);
  assert.equal(first.sums?.protectors, 2);
  assert.equal(view.update(6), undefined);
});

test("an update has the rows that have changed, and nothing else", () => {
  const state = stateWith(3);
  const view = new View(state, query);
  view.update(0);
  state.fleet.set("core", protector("p00001"), undefined);
  assert.equal(view.update(1), undefined);
  state.fleet.set("core", broken("p00001"), undefined);
  const update = view.update(2)!;
  assert.equal(update.isWhole, false);
  assert.deepEqual(
    update.rows?.map(({ name }) => name),
    ["p00001"],
  );
  assert.equal(update.list?.order[0], "core/shop/p00001");
  assert.equal(update.timeline, undefined);
  assert.equal(update.cells, undefined);
});

test("of 10,000 PodProtectors one page is sent, and a burst of changes elsewhere costs only sums", () => {
  const state = stateWith(10_000);
  const view = new View(state, { ...query, page: 200 });
  const first = view.update(0)!;
  assert.deepEqual(
    { ...first.list, order: first.list?.order.length },
    { matching: 10_000, page: 200, pages: 200, order: 50 },
  );
  assert(JSON.stringify(first).length < 60_000);
  for (let index = 0; index < 1_000; index++) {
    const name = `p${String(index).padStart(5, "0")}`;
    state.fleet.set("core", broken(name), undefined);
  }
  assert(JSON.stringify(view.update(1)).length < 1_000);
});

test("a page beyond the last one is the last one", () => {
  const { list } = new View(stateWith(60), { ...query, page: 9 }).update(0)!;
  assert.deepEqual({ ...list, order: list?.order.length }, { matching: 60, page: 2, pages: 2, order: 10 });
});

test("the timeline is sent once, and then what is new", () => {
  const state = stateWith(0);
  addEvent(state, "a", 1);
  const view = new View(state, query);
  assert.equal(view.update(0)?.timeline?.entries.length, 1);
  addEvent(state, "b", 2);
  const { timeline } = view.update(1)!;
  assert.deepEqual(
    timeline?.entries.map(({ id }) => id),
    ["core/b"],
  );
  assert.equal(timeline?.kept, 2);
});

test("a browser that comes back gets what it has missed of the timeline", () => {
  const state = stateWith(0);
  addEvent(state, "a", 1);
  const before = new View(state, query);
  before.update(0);
  addEvent(state, "b", 2);
  const after = new View(state, { ...query, entriesSince: before.sentChange });
  assert.deepEqual(
    after.update(1)?.timeline?.entries.map(({ id }) => id),
    ["core/b"],
  );
});

test("a cell that counts pods and has no Lease is shown with what it counts", () => {
  const state = stateWith(0);
  const metadata = { namespace: "shop", name: "web", uid: "web", resourceVersion: "1" };
  const spec = { minAvailable: 0, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } };
  const cells = [{ cellID: "old", aggregation: { totalReplicas: 4, availableReplicas: 3 } }];
  const summary = { totalReplicas: 4, aggregatedAvailableReplicas: 3, estimatedAvailableReplicas: 3 };
  state.fleet.set("core", decodeWatched({ metadata, spec, status: { cells, summary } })!, undefined);
  const words = (): unknown =>
    new View(state, query).update(0)?.cells?.map(({ cell, word, available }) => [cell, word, available]);
  assert.deepEqual(words(), [["old", "Unknown", 3]]);
  state.setCards("core", []);
  assert.deepEqual(words(), [["old", "No Lease", 3]]);
});
