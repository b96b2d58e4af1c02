import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey, type ProtectorID } from "../../../../../src/api/object-key.ts";
import { DashboardState } from "../../../../../src/commands/dashboard/model/dashboard-state.ts";
import {
  cardWithoutLease,
  cellCard,
  Fleet,
  LowMarks,
  slotMs,
  slotsMax,
  worstFirst,
} from "../../../../../src/commands/dashboard/model/fleet.ts";
import {
  decodeWatched,
  factsOf,
  rowState,
  urgencyOf,
} from "../../../../../src/commands/dashboard/model/protector-row.ts";
import { type Refusals } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { listCells } from "../../../../../src/commands/fleet/cells.ts";
import { type State, states } from "../../../../../src/commands/fleet/standing.ts";
import { type JsonObject } from "../../../../double/index.ts";
import { createVirtualClock, drainMicrotasks } from "../../../../support/virtual-clock.ts";
import {
  createCellLease,
  somebodyIsHeard,
  createFleet,
  createProtector,
  type Fleet as DoubleFleet,
  type ProtectorFields,
  systemNamespace,
} from "../../support/fleet.ts";

const never = new AbortController().signal;

test("whoever waits is woken by a change, and by the end of the wait", async () => {
  const clock = createVirtualClock();
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  let woken = 0;
  const wait = (): void => void state.whenChanged(state.version, 1000, never).then(() => woken++);
  wait();
  state.changed();
  await drainMicrotasks();
  assert.equal(woken, 1);
  wait();
  await clock.advance(999);
  assert.equal(woken, 1);
  await clock.advance(1);
  assert.equal(woken, 2);
  assert.equal(clock.pendingTimers, 0);
});

test("a change that was missed does not let anybody wait", async () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  const { version } = state;
  state.changed();
  await state.whenChanged(version, 1000, never);
});

test("an abort ends the wait and leaves no timer", async () => {
  const clock = createVirtualClock();
  const state = new DashboardState(clock, { cores: ["core"], namespace: undefined });
  const stop = new AbortController();
  const waiting = state.whenChanged(state.version, 1000, stop.signal);
  stop.abort();
  await waiting;
  assert.equal(clock.pendingTimers, 0);
  await state.whenChanged(state.version, 1000, stop.signal);
});

test("a problem is shown while it lasts, and its repetition is no change", () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  state.setProblem("core", "cells", "no right");
  const { version } = state;
  state.setProblem("core", "cells", "no right");
  assert.equal(state.version, version);
  assert.deepEqual(state.problems, [{ core: "core", text: "no right" }]);
  state.setProblem("core", "cells", undefined);
  assert.deepEqual(state.problems, []);
  assert.notEqual(state.version, version);
});

test("it is complete when all that is awaited has arrived", () => {
  const state = new DashboardState(createVirtualClock(), { cores: ["core"], namespace: undefined });
  state.await("a");
  state.await("b");
  state.arrived("a");
  assert.equal(state.isComplete, false);
  state.arrived("b");
  assert.equal(state.isComplete, true);
});

async function factsIn(fleet: DoubleFleet, name: string, fields: ProtectorFields) {
  const watched = decodeWatched(await createProtector(fleet.core, name, fields));
  assert(watched !== undefined);
  const { client } = fleet.core;
  const now = (): ReturnType<typeof fleet.clock.epochMicros> => fleet.clock.epochMicros();
  return factsOf(watched, await listCells(client, systemNamespace, now, new AbortController().signal));
}

test("a row has the figures of the heart, by cell, and the workload it was made for", async () => {
  const fleet = await createFleet();
  const facts = await factsIn(fleet, "web", {
    minAvailable: 5,
    metadata: {
      labels: { "podseidon.kubewharf.io/source-kind": "Deployment", "podseidon.kubewharf.io/source-name": "web" },
    },
    cells: [
      { cellID: "w1", available: 4, buckets: [{ startTime: "2026-01-01T00:00:00.000000Z" as never, podUID: "u" }] },
      { cellID: "w2", available: 3 },
    ],
  });
  assert.equal(facts.workload, "Deployment web");
  const { cells, ...figures } = facts.figures!;
  assert.deepEqual(figures, { mustStay: 5, available: 7, promised: 1, free: 1 });
  assert.deepEqual(cells, [
    { cell: "w1", available: 4, promised: 1, note: "" },
    { cell: "w2", available: 3, promised: 0, note: "" },
  ]);
  assert.deepEqual(facts.states, [{ name: "ok", tone: "good", why: "" }]);
});

test("a PodProtector at its floor says in numbers why nothing may go", async () => {
  const fleet = await createFleet();
  const { states } = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 3 }] });
  assert.equal(states[0].name, "at floor");
  assert.equal(states[0].why, "3 are available, 0 of them promised, and 3 must stay: none is free");
});

test("a PodProtector with too few pods says in numbers what is missing", async () => {
  const fleet = await createFleet();
  const { states } = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 2 }] });
  assert.equal(states[0].name, "below floor");
  assert.equal(states[0].why, "3 must stay, 2 are available and 0 of them promised");
});

test("pods of a silent cell do not count, and the row says what the cell had", async () => {
  const fleet = await createFleet();
  await somebodyIsHeard(fleet.core, fleet.clock);
  await createCellLease(fleet.core, fleet.clock, "w1", { agoMs: 400_000 });
  const facts = await factsIn(fleet, "web", { minAvailable: 3, cells: [{ cellID: "w1", available: 4 }] });
  assert.deepEqual(
    facts.states.map(({ name }) => name),
    ["cell silent"],
  );
  assert.equal(facts.states[0].why, "Nothing is heard from w1, so the pods there do not count");
  assert.equal(facts.figures?.cells[0]?.note, "silent, had 4");
});

test("a cell that has not counted an edited spec is named", async () => {
  const fleet = await createFleet();
  const cell = { cellID: "w1", aggregation: { totalReplicas: 2, availableReplicas: 2, countedSpec: "other" } };
  const { states, figures } = await factsIn(fleet, "web", { minAvailable: 1, cells: [cell] });
  assert(states.some(({ why }) => why === "Not counted since it was made or edited: w1"));
  assert.equal(figures?.cells[0]?.note, "not counted");
});

test("an object that cannot be read is a row without figures, because deletions of its pods are refused", () => {
  const metadata = { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" };
  const watched = decodeWatched({ metadata, spec: { minAvailable: "many" } });
  const { figures, states } = factsOf(watched!, undefined);
  assert.equal(figures, undefined);
  assert.equal(states[0].name, "unusable");
  assert.match(states[0].why, /^It is invalid, so deletions of its pods are refused: /);
});

test("an object without a name, a UID or a version is no row", () => {
  const metadata: JsonObject = { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" };
  for (const missing of Object.keys(metadata)) {
    assert.equal(decodeWatched({ metadata: { ...metadata, [missing]: undefined } }), undefined, missing);
  }
});

test("names with characters that could deceive people are cleaned", async () => {
  const fleet = await createFleet();
  const { figures } = await factsIn(fleet, "web", { minAvailable: 1, cells: [{ cellID: "w\u202e1", available: 2 }] });
  assert.equal(figures?.cells[0]?.cell, "w?1");
});

const held = {
  type: "ChangeHeld",
  status: "True",
  reason: "MassChange",
  message: "12 others fall at once",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

test("every state but ok has a tone that is not good", () => {
  for (const name of states) assert.equal(rowState(name, undefined).tone === "good", name === "ok", name);
});

test("why comes from the caller, else from the condition, else from what the word means", () => {
  assert.equal(rowState("change held", [held], "told").why, "told");
  assert.equal(rowState("change held", [held]).why, "12 others fall at once");
  assert.equal(rowState("change held", [{ ...held, status: "False" }]).why, "");
  assert.match(rowState("shadow", []).why, /refuses nothing/);
});

test("the most urgent state is the one that webhooks cannot use", () => {
  assert.equal(urgencyOf("unusable"), 0);
  assert(urgencyOf("below floor") < urgencyOf("at floor"));
  assert(urgencyOf("ok") > urgencyOf("shadow"));
});

const everything = { words: "", state: undefined };

/** PodProtectors with the given numbers of available pods; all must keep 3. */
async function fleetOf(available: Readonly<Record<string, number>>) {
  const { core, clock } = await createFleet();
  const refusals = new Map<ProtectorID, Refusals>();
  const fleet = new Fleet(clock, (id) => refusals.get(id));
  for (const [name, count] of Object.entries(available)) {
    const object = await createProtector(core, name, { minAvailable: 3, cells: [{ cellID: "w1", available: count }] });
    fleet.set("core", decodeWatched(object)!, undefined);
  }
  const names = (words = "", state?: State): string[] =>
    fleet.rows({ words, state }, 0, 100).rows.map(({ name }) => name);
  return { fleet, names, refusals, core, clock };
}

test("those that need attention come first, then those that were refused most, then by name", async () => {
  const { fleet, names, refusals } = await fleetOf({ calm: 9, busy: 9, low: 2, floor: 3, a: 9 });
  const id = "core/shop/busy" as ProtectorID;
  refusals.set(id, { count: 4, lastMs: 0, last: "", series: [] });
  fleet.refusalsChanged(id);
  assert.deepEqual(names(), ["low", "floor", "busy", "a", "calm"]);
});

test("words are searched in names, cells and states, and all of them must be found", async () => {
  const { names } = await fleetOf({ web: 9, worker: 2 });
  assert.deepEqual(names("shop WEB"), ["web"]);
  assert.deepEqual(names("below"), ["worker"]);
  assert.deepEqual(names("w1 web"), ["web"]);
  assert.deepEqual(names("web absent"), []);
});

test("a state finds the rows that have it, whichever is their first", async () => {
  const { names } = await fleetOf({ web: 9, low: 2 });
  assert.deepEqual(names("", "below floor"), ["low"]);
  assert.deepEqual(names("", "ok"), ["web"]);
});

test("rows are given by page, with the number of all that match", async () => {
  const { fleet } = await fleetOf({ a: 9, b: 9, c: 9 });
  const { rows, matching } = fleet.rows(everything, 1, 1);
  assert.deepEqual([rows.map(({ name }) => name), matching], [["b"], 3]);
});

test("sums count rows by each of their states, and pods by cell", async () => {
  const { fleet } = await fleetOf({ web: 9, low: 2 });
  const { protectors, byState, cells } = fleet.sums();
  assert.equal(protectors, 2);
  assert.deepEqual(byState, [
    { name: "below floor", tone: "bad", count: 1 },
    { name: "at floor", tone: "warn", count: 0 },
    { name: "ok", tone: "good", count: 1 },
  ]);
  assert.deepEqual([...cells], [["core\nw1", { available: 11, promised: 0 }]]);
});

test("a row that is deleted is gone from rows and sums", async () => {
  const { fleet, names } = await fleetOf({ web: 9, low: 2 });
  names();
  fleet.delete("core", objectKey("shop", "low"));
  assert.deepEqual(names(), ["web"]);
  assert.equal(fleet.sums().protectors, 1);
});

test("when a cell falls silent, the rows of its core change", async () => {
  const { fleet, names, core, clock } = await fleetOf({ web: 9 });
  await createCellLease(core, clock, "w1", { agoMs: 400_000 });
  await somebodyIsHeard(core, clock);
  const now = (): ReturnType<typeof clock.epochMicros> => clock.epochMicros();
  const cells = await listCells(core.client, systemNamespace, now, new AbortController().signal);
  fleet.cellsChanged("other", cells);
  assert.deepEqual(names("", "cell silent"), []);
  fleet.cellsChanged("core", cells);
  assert.deepEqual(names("", "cell silent"), ["web"]);
});

test("a row remembers how many were available", async () => {
  const { fleet, core, clock } = await fleetOf({ web: 9 });
  await clock.advance(30_000);
  const object = core.engine.get(core.protectors, "shop", "web");
  const status = structuredClone(object) as unknown as { status: { cells: { aggregation: object }[] } };
  Object.assign(status.status.cells[0]!.aggregation, { availableReplicas: 5 });
  fleet.set("core", decodeWatched(status)!, undefined);
  const [row] = fleet.rows(everything, 0, 1).rows;
  assert.deepEqual(
    row?.lows.map(([, lowest, last]) => [lowest, last]),
    [
      [9, 9],
      [5, 5],
    ],
  );
});

const prefix = "podseidon.kubewharf.io";

async function cardOf(lease: { readonly agoMs?: number; readonly annotations?: JsonObject }) {
  const { core, clock } = await createFleet();
  await createCellLease(core, clock, "w1", lease);
  await somebodyIsHeard(core, clock);
  const now = (): ReturnType<typeof clock.epochMicros> => clock.epochMicros();
  const { cells } = await listCells(core.client, systemNamespace, now, new AbortController().signal);
  return { ...cellCard("core", cells.get("w1")!), nowMs: clock.epochMicros() / 1000 };
}

test("a cell that beats is heard, with the time of its beat and the version of its aggregator", async () => {
  const card = await cardOf({ agoMs: 3_000, annotations: { [`${prefix}/product-version`]: "1.2.3" } });
  assert.equal(card.word, "Heard");
  assert.equal(card.tone, "good");
  assert.equal(card.nowMs - card.heardMs!, 3_000);
  assert.equal(card.version, "1.2.3");
});

test("a cell that does not beat is silent, unless a person keeps it", async () => {
  assert.equal((await cardOf({ agoMs: 200_000 })).word, "Silent");
  const keepUntil = { [`${prefix}/keep-until`]: "2026-01-02T00:00:00Z" };
  assert.equal((await cardOf({ agoMs: 200_000, annotations: keepUntil })).word, "Silent, kept");
});

test("a cell whose deletions are not reviewed is not guarded, and says why", async () => {
  const { word, tone, why } = await cardOf({ annotations: { [`${prefix}/gate`]: "reviewed as cell w9" } });
  assert.deepEqual([word, tone, why], ["Not guarded", "bad", "reviewed as cell w9"]);
});

test("a cell that is behind, or retiring, says so", async () => {
  assert.equal((await cardOf({ annotations: { [`${prefix}/behind`]: "AAAAAAAAAAA=" } })).word, "Behind");
  assert.equal((await cardOf({ annotations: { [`${prefix}/forget`]: "true" } })).word, "Retiring");
});

test("cells that need attention come first, and equal ones keep their order", async () => {
  const heard = await cardOf({});
  const silent = await cardOf({ agoMs: 200_000 });
  const cards = [heard, { ...heard, cell: "w2" }, silent];
  assert.deepEqual(
    worstFirst(cards).map(({ cell, tone }) => `${cell} ${tone}`),
    ["w1 bad", "w1 good", "w2 good"],
  );
});

test("a cell without a Lease says that its counts stay in force, unless nobody could look", () => {
  assert.equal(cardWithoutLease("core", "w1", true).word, "No Lease");
  assert.equal(cardWithoutLease("core", "w1", false).word, "Unknown");
});

test("the lowest number of a slot is kept, and the one at its end", () => {
  const lows = new LowMarks();
  lows.record(0, 10);
  lows.record(slotMs, 9);
  lows.record(slotMs + 1, 4);
  lows.record(slotMs + 2, 8);
  assert.deepEqual(lows.marks, [
    [0, 10, 10],
    [1, 4, 8],
  ]);
});

test("in the slot in which a number rises, the lower one held as well", () => {
  const lows = new LowMarks();
  lows.record(0, 3);
  lows.record(5 * slotMs, 7);
  assert.deepEqual(lows.marks.at(-1), [5, 3, 7]);
});

test("a number that stays the same needs no room", () => {
  const lows = new LowMarks();
  for (let slot = 0; slot < 1000; slot++) lows.record(slot * slotMs, 5);
  assert.equal(lows.marks.length, 1);
});

test("what is older than a quarter of an hour is forgotten, but for what held at its beginning", () => {
  const lows = new LowMarks();
  for (let slot = 0; slot < 500; slot++) lows.record(slot * slotMs, slot);
  assert.equal(lows.marks.length, slotsMax + 1);
  assert.equal(lows.marks[0]![0], 499 - slotsMax);
});

test("a clock that goes back adds nothing before the last slot", () => {
  const lows = new LowMarks();
  lows.record(10 * slotMs, 5);
  lows.record(2 * slotMs, 3);
  assert.deepEqual(lows.marks, [[10, 3, 3]]);
});
