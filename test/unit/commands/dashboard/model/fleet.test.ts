import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey, type ProtectorID } from "../../../../../src/api/object-key.ts";
import {
  cardWithoutLease,
  cellCard,
  Fleet,
  LowMarks,
  slotMs,
  slotsMax,
  worstFirst,
} from "../../../../../src/commands/dashboard/model/fleet.ts";
import { decodeWatched } from "../../../../../src/commands/dashboard/model/protector-row.ts";
import { type Refusals } from "../../../../../src/commands/dashboard/model/timeline.ts";
import { listCells } from "../../../../../src/commands/fleet/cells.ts";
import { type State } from "../../../../../src/commands/fleet/standing.ts";
import { type JsonObject } from "../../../../double/index.ts";
import { createCellLease, createFleet, createProtector, systemNamespace } from "../../support/fleet.ts";

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
