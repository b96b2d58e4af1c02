import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellFigures, type QuotaFigures } from "../../../../src/accounting/reserve/quota-figures.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  forcedOf,
  listProtectorEvents,
  type ProtectorEvent,
  type Refusals,
  refusalsOf,
  releasesOf,
  seenTombstones,
} from "../../../../src/commands/fleet/refusals.ts";
import { type State } from "../../../../src/commands/fleet/standing.ts";
import { cellsText, refusedText, sinceText, toneOf } from "../../../../src/commands/fleet/wording.ts";
import { decodeGeneratorState } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { createFleet, createRefusal } from "../support/fleet.ts";

test("refusals are summed by PodProtector, the newest first, without what refuses nothing", async () => {
  const fleet = await createFleet();
  const { core, stop } = fleet;
  await createRefusal(fleet, { name: "web", count: 5, agoMs: 60_000 });
  await createRefusal(fleet, { name: "web", count: 2, agoMs: 9_000, reason: "CountsPending" });
  await createRefusal(fleet, { name: "web", count: 9, agoMs: 1_000, reason: "WouldRefuse" });
  await createRefusal(fleet, { name: "api", count: 1, agoMs: 1_000, reason: "PodProtectorLost" });
  await createRefusal(fleet, { name: "api", count: 1, agoMs: 2_000, reason: "ForcedDeletion" });
  const events = await listProtectorEvents(core.client, undefined, stop.signal);
  assert.equal(events.length, 5);
  const refusals = refusalsOf(events);
  const ofWeb = refusals.get(objectKey("shop", "web"));
  assert.deepEqual([ofWeb?.count, ofWeb?.last.reason, ofWeb?.events.length], [7, "CountsPending", 2]);
  assert.deepEqual([...refusals.keys()], ["shop/web"]);
  const ofApi = await listProtectorEvents(core.client, "shop", stop.signal, "api");
  assert.deepEqual(
    ofApi.map(({ protector }) => protector),
    ["shop/api", "shop/api"],
  );
});

test("who asked is summed over the Events, and an Event without callers names nobody", async () => {
  const fleet = await createFleet();
  const { core, stop } = fleet;
  const by = (counts: string): string => `Refused 251 deletions in 60 s (by ${counts}); last: Deletion of pod x: why`;
  await createRefusal(fleet, { name: "web", count: 251, agoMs: 60_000, message: by("runaway 240, alice 11") });
  await createRefusal(fleet, {
    name: "web",
    count: 20,
    agoMs: 9_000,
    reason: "CountsPending",
    message: by("alice 20"),
  });
  await createRefusal(fleet, { name: "old", count: 2, agoMs: 9_000 });
  const refusals = refusalsOf(await listProtectorEvents(core.client, "shop", stop.signal));
  assert.deepEqual(refusals.get(objectKey("shop", "web"))?.callers, [
    { name: "runaway", count: 240 },
    { name: "alice", count: 31 },
  ]);
  assert.deepEqual(refusals.get(objectKey("shop", "old"))?.callers, []);
});

test("what the generator has released lately is told, the newest first, and no Event of others", () => {
  const event = (name: string, at: number, component = "podseidon-generator", reason = "Released"): ProtectorEvent => ({
    protector: objectKey("shop", name),
    uid: name,
    reason,
    message: "Its floor of 3 is no longer in force",
    count: 1,
    lastAt: at as EpochMicros,
    component,
  });
  const all = [event("a", 5), event("b", 9), event("c", 2), event("d", 9, "somebody"), event("e", 9, undefined, "X")];
  assert.deepEqual(
    releasesOf(all, 5 as EpochMicros).map(({ protector }) => protector),
    ["shop/b", "shop/a"],
  );
});

test("forced deletions are summed by PodProtector with who forced them, and refusals are not among them", async () => {
  const fleet = await createFleet();
  const { core, stop } = fleet;
  const by = (what: string, caller: string): string =>
    `${what} by ${JSON.stringify(caller)} were forced that would be refused; last: Deletion of pod x: why`;
  const forced = { name: "web", reason: "ForcedDeletion" };
  await createRefusal(fleet, { ...forced, count: 2, agoMs: 60_000, message: by("Deletions", "alice") });
  await createRefusal(fleet, { ...forced, count: 1, agoMs: 9_000, message: by("Evictions", "alice") });
  await createRefusal(fleet, { ...forced, count: 7, agoMs: 20_000, message: by("Deletions", 'odd" were forced ') });
  await createRefusal(fleet, { ...forced, count: 1, agoMs: 30_000, message: "in other words" });
  await createRefusal(fleet, { name: "api", count: 20, agoMs: 9_000 });
  const all = forcedOf(await listProtectorEvents(core.client, "shop", stop.signal));
  const ofWeb = all.get(objectKey("shop", "web"));
  assert.deepEqual([[...all.keys()], ofWeb?.count], [["shop/web"], 11]);
  assert.deepEqual(ofWeb?.callers, [
    { name: 'odd\\" were forced ', count: 7 },
    { name: "alice", count: 3 },
  ]);
});

const lost = (uid: string, lastAt: number, message = "It is gone from the core"): ProtectorEvent => ({
  protector: objectKey("shop", "web"),
  uid,
  reason: "PodProtectorLost",
  message,
  count: 1,
  lastAt: lastAt as EpochMicros,
  component: "podseidon-webhook",
});

const uids = (...of: Parameters<typeof seenTombstones>): readonly string[] =>
  seenTombstones(...of).map(({ uid }) => uid);

test("a PodProtector is a tombstone when webhooks say that it is gone, and it is neither there nor let go", () => {
  const other = { ...lost("b", 1), protector: objectKey("shop", "again") };
  const events = [lost("a", 1), other, lost("c", 1), { ...lost("d", 1), reason: "TooFewReplicas" }];
  const state = decodeGeneratorState({ data: { "uid.c": "torn down" } });
  // Another one under its name is in its place.
  const present = new Set([objectKey("shop", "again")]);
  assert.deepEqual(uids(events, present, state), ["a"]);
  assert.deepEqual(uids(events, present, undefined), ["a", "c"]);
  assert.deepEqual(uids(events, new Set(), state), ["a", "b"]);
});

test("no Event hides another one: that it is over is only said, by the newest of them", () => {
  const ended = "It was gone from the core, and is no longer in force: it was deleted";
  const said = (...events: readonly ProtectorEvent[]): readonly (readonly [string, boolean])[] =>
    seenTombstones(events, new Set(), undefined).map(({ uid, isSaidToBeOver }) => [uid, isSaidToBeOver]);
  assert.deepEqual(said(lost("a", 1), lost("a", 2, ended)), [["a", true]]);
  assert.deepEqual(said(lost("a", 3), lost("a", 2, ended)), [["a", false]]);
  const release = { ...lost("b", 2, "Its floor of 3 is no longer in force: deleted in shop"), reason: "Released" };
  const forged = { ...release, component: "podseidon-generator" };
  assert.deepEqual(said(lost("a", 1), forged), [["a", false]]);
});

const cell = (cellID: string, changes: Partial<CellFigures> = {}): CellFigures => ({
  cellID,
  counts: "in-force",
  aggregated: 7,
  last: 7,
  unconfirmed: 0,
  ...changes,
});

const textOf = (...cells: readonly CellFigures[]): string =>
  cellsText({ figures: { cells } as unknown as QuotaFigures });

test("each cell is told with what it has counted and promised, and why that is not in force", () => {
  assert.equal(textOf(), "none");
  assert.equal(textOf(cell("w1"), cell("w2", { unconfirmed: 2 })), "w1 7, w2 7 - 2");
  assert.equal(textOf(cell("w1", { silentForMs: 242_000, aggregated: 0 })), "w1 silent 4 m 02 s (7)");
  assert.equal(textOf(cell("w1", { counts: "none", last: 0, unconfirmed: 1 })), "w1 not counted - 1");
  assert.equal(textOf(cell("w1", { counts: "other-spec", aggregated: 0 })), "w1 not counted again (7)");
  const many = Array.from({ length: 10 }, (_, index) => cell(`w${index}`));
  assert.match(textOf(...many), /, w7 7 and 2 more$/);
});

test("what is wrong is red", () => {
  assert.deepEqual([toneOf("below floor"), toneOf("at floor"), toneOf("ok")], ["bad", "warning", "good"]);
});

test("a state is told with its age and the reason, while its condition holds", () => {
  const at = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;
  const of = (state: State, type: string, status: string, lastTransitionTime: string): string | undefined => {
    const conditions = [{ type, status, lastTransitionTime, reason: "x", message: "It is so" }];
    return sinceText({ protector: { status: { conditions } } as unknown as PodProtector }, state, at);
  };
  assert.equal(of("dangling", "Dangling", "True", "2025-12-31T23:56:00Z"), "dangling for 4 m 00 s: It is so");
  assert.equal(of("at floor", "AtFloor", "True", "2025-12-31T23:56:00Z"), "at floor for 4 m 00 s");
  assert.equal(of("at floor", "Dangling", "True", "2025-12-31T23:56:00Z"), undefined);
  assert.equal(of("at floor", "AtFloor", "False", "2025-12-31T23:56:00Z"), undefined);
  assert.equal(of("at floor", "AtFloor", "True", "yesterday"), undefined);
  assert.equal(of("ok", "AtFloor", "True", "2025-12-31T23:56:00Z"), undefined);
});

const refusal = (count: number, secondsAgo: number | undefined): ProtectorEvent => ({
  protector: objectKey("shop", "web"),
  uid: "uid",
  reason: "TooFewReplicas",
  message: "",
  count,
  lastAt: secondsAgo === undefined ? undefined : (((3_600 - secondsAgo) * 1_000_000) as EpochMicros),
  component: "podseidon-webhook",
});
const refusedOf = (events: readonly ProtectorEvent[], callers: Refusals["callers"] = []): string =>
  refusedText({ events, callers } as unknown as Refusals, 3_600_000_000 as EpochMicros);

test("refusals are told with their number, the last one, and those who asked most", () => {
  const callers = ["a", "b", "c", "d"].map((name, index) => ({ name, count: 9 - index }));
  assert.equal(
    refusedOf([refusal(20, 12), refusal(10, 300)], callers),
    "30 times lately, last 12 s ago, by a 9, b 8, c 7 and 1 more, Events say",
  );
  assert.equal(refusedOf([refusal(1, undefined)]), "1 time lately, Events say");
});

test("refusals of more than ten minutes ago stand apart, so that they are not taken for the present trouble", () => {
  assert.equal(
    refusedOf([refusal(11, 12), refusal(2, 900), refusal(238, 1_930)]),
    "11 times lately, last 12 s ago; before that 240 times, last 15 m 00 s ago, Events say",
  );
  assert.equal(
    refusedOf([refusal(240, 1_930)], [{ name: "runaway", count: 240 }]),
    "not lately, but 240 times, last 32 m 10 s ago, by runaway 240, Events say",
  );
  assert.equal(refusedOf([refusal(1, 600)]), "1 time lately, last 10 m 00 s ago, Events say");
});
