import assert from "node:assert/strict";
import { test } from "node:test";
import { glanceAt } from "../../../../src/accounting/silence/glance.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type CoreLook, lookAt } from "../../../../src/commands/fleet/look.ts";
import { refusalsOf } from "../../../../src/commands/fleet/refusals.ts";
import { type Standing, type State } from "../../../../src/commands/fleet/standing.ts";
import { standingJson, statusJson } from "../../../../src/commands/status/json.ts";
import {
  areWrong,
  chosenLines,
  isAnythingWrong,
  keyOf,
  lostDefinitionText,
  statusText,
} from "../../../../src/commands/status/text.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { lease } from "../../accounting/silence/lease-lists.ts";
import { onLostCore } from "../restore/lost-core.ts";
import { createFleet, createProtector, createRefusal, plainTerminal, systemNamespace } from "../support/fleet.ts";

const empty: CoreLook = {
  core: "core",
  at: 0 as EpochMicros,
  protectors: { standings: [], unusable: [] },
  cells: undefined,
  held: undefined,
  events: undefined,
  replicas: undefined,
  tombstones: [],
  definition: "there",
  waiting: [],
  unread: [],
};
const view = { namespace: undefined, showsAll: false, program: "podseidon", terminal: plainTerminal };

test("what could not be read is not known to be well", () => {
  assert.equal(isAnythingWrong(empty), false);
  assert.equal(isAnythingWrong({ ...empty, unread: ["core: you may not list x"] }), true);
});

test("releases that differ are told, and are nothing wrong by themselves", () => {
  const seen = (cellID: string | undefined, productVersion: string) => {
    const one = lease(cellID, "1", { productVersion });
    return { lease: one, glance: glanceAt(one, 0 as EpochMicros) };
  };
  const observer = seen(undefined, "0.2.0 (b)");
  const mixed = { cells: new Map([["a", { cellID: "a", ...seen("a", "0.1.0 (a)") }]]), observer };
  const text = statusText([{ ...empty, cells: mixed }], view);
  const told = "versions differ: generator 0.2.0 (b), aggregator of a 0.1.0 (a); see podseidon check";
  assert.ok(text.replaceAll(/\s+/g, " ").includes(told), text);
  assert.equal(isAnythingWrong({ ...empty, cells: mixed }), false);
  const same = { cells: new Map([["a", { cellID: "a", ...seen("a", "0.2.0 (b)") }]]), observer };
  assert.doesNotMatch(statusText([{ ...empty, cells: same }], view), /versions/);
});

test("replicas that are not ready are told", () => {
  const replicas = [{ name: "podseidon-webhook", component: "webhook", ready: 2, wanted: 3 }];
  const terminal = { ...plainTerminal, isColoured: true };
  const text = statusText([{ ...empty, replicas }], { ...view, terminal });
  assert.match(text, /\nreplicas {2}\u001b\[31mpodseidon-webhook: 2 of 3 ready\u001b\[0m\n/);
});

test("an invalid PodProtector is told with the reason, and hostile text does no harm", () => {
  const unusable = [{ namespace: "shop", name: "we\u001b[2Jb", reason: "spec: \u001b]0;x\u0007" }];
  const text = statusText([{ ...empty, protectors: { standings: [], unusable } }], view);
  assert.match(text, /\nshop\/we\?\[2Jb +- +- +- +- {2}unusable\n/);
  assert.match(text, /\n {4}invalid, so deletions of its pods are refused: spec: /);
  assert.match(text, /^[\x20-\x7e\n]*$/);
});

test("implausible counts show no number of free pods, in text and as JSON", async () => {
  const fleet = await createFleet();
  const cells = [{ cellID: "w1", available: 1_000_000 }];
  await createProtector(fleet.core, "web", { minAvailable: 3, cells, conditions: [{ type: "Implausible" }] });
  const { exitCode, stdout } = await fleet.run("status");
  assert.equal(exitCode, 1);
  assert.match(stdout, /\nshop\/web +3 +1000000 +0 +\? .*implausible/);
  const json = JSON.parse((await fleet.run("status", "--output=json")).stdout);
  assert.partialDeepStrictEqual(json.cores[0].protectors, [{ free: null, states: ["implausible"], isWrong: true }]);
  assert.match((await fleet.run("explain", "protector", "web", "-n", "shop")).stdout, /promised 0, free \?/);
});

test("a cell that says more than the workload lets it have counts for the limit, and its word is shown", async () => {
  const fleet = await createFleet();
  const cells = [{ cellID: "w1", available: 1_000 }];
  await createProtector(fleet.core, "web", { minAvailable: 6, cells, spec: { maxPodsPerCell: 6 } });
  const { stdout } = await fleet.run("status");
  assert.match(stdout, /\nshop\/web +6 +6 +0 +0 +at floor\n/);
  assert.match(stdout, /cells: w1 6 \(1000 said\)/);
});

const lostView = { terminal: plainTerminal, program: "podseidon" };

test("the way back of a lost CRD is a command on a line of its own, and nothing is said of one that is there", () => {
  assert.equal(
    lostDefinitionText({ definition: "terminating" }, lostView),
    "The CRD of PodProtectors has been deleted; finalizers alone keep what is left.\n" +
      "  Do not restart webhooks. Stop the generator, leave it stopped, and then:\n  podseidon restore crd\n",
  );
  const gone = lostDefinitionText({ definition: "gone" }, lostView);
  assert.match(gone, /^The CRD of PodProtectors is gone, .*\n.*\n {2}podseidon restore crd --file=FILE\n$/);
  assert.equal(lostDefinitionText({ definition: "there" }, lostView), "");
  assert.equal(lostDefinitionText({ definition: undefined }, lostView), "");
});

test("status begins with a CRD that somebody has deleted, though every line below looks well", () =>
  onLostCore(async (core) => {
    await core.lose();
    const { exitCode, stdout } = await core.fleet.run("status");
    assert.equal(exitCode, 1);
    assert.match(stdout, /^The CRD of PodProtectors has been deleted; .*\n.*\n {2}podseidon restore crd\n/);
    assert.match(stdout, /\n2 PodProtectors: /);
  }));

test("explain begins with a CRD that somebody has deleted, since its advice is for a core that has one", () =>
  onLostCore(async (core) => {
    const before = await core.fleet.run("explain", "protector", "a", "-n", "shop");
    await core.lose();
    const { exitCode, stdout } = await core.fleet.run("explain", "protector", "a", "-n", "shop");
    assert.equal(exitCode, before.exitCode);
    assert.match(stdout, /^The CRD of PodProtectors has been deleted; .*\n.*\n {2}podseidon restore crd\n\nPodP/);
    assert.match(before.stdout, /^PodProtector /);
  }));

const one = (name: string, state: State): Standing =>
  ({ namespace: "shop", name, states: [state] }) as unknown as Standing;
const many = (count: number, state: State): Standing[] =>
  Array.from({ length: count }, (_, index) => one(`${state}-${index}`, state));

test("a small fleet is shown whole, what is wrong first and then by name", () => {
  const invalid = { namespace: "shop", name: "bad", reason: "x" };
  const { lines, counts, left } = chosenLines([one("z", "ok"), one("b", "ok"), one("y", "at floor")], [invalid], false);
  assert.deepEqual(lines.map(keyOf), ["shop/bad", "shop/y", "shop/b", "shop/z"]);
  assert.deepEqual(
    [...counts],
    [
      ["unusable", 1],
      ["at floor", 1],
      ["ok", 2],
    ],
  );
  assert.equal(left, 0);
});

test("of a large fleet those that are well or in shadow are only counted, unless all are asked for", () => {
  const fleet = [...many(30, "ok"), ...many(5, "shadow"), ...many(60, "below floor")];
  const { lines, left } = chosenLines(fleet, [], false);
  assert.deepEqual([lines.length, left], [50, 45]);
  assert(lines.every(({ state }) => state === "below floor"));
  assert.equal(chosenLines(fleet, [], true).left, 0);
});

test("a fleet is wrong when one of them is", () => {
  assert.equal(areWrong(chosenLines([one("a", "ok"), one("b", "undrainable")], [], false)), false);
  assert.equal(areWrong(chosenLines([one("a", "ok"), one("b", "dangling")], [], false)), true);
});

test("JSON has each PodProtector with its cells and refusals", async () => {
  const fleet = await createFleet();
  const { core, clock, stop } = fleet;
  await createProtector(core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 3 }] });
  await createRefusal(fleet, { name: "web", count: 4, agoMs: 0 });
  const look = await lookAt({
    core: "core",
    client: core.client,
    namespace: undefined,
    leaseNamespace: systemNamespace,
    clock,
    signal: stop.signal,
  });
  const [standing] = look.protectors?.standings ?? [];
  const refused = refusalsOf(look.events ?? []).get(objectKey("shop", "web"));
  const expected = {
    namespace: "shop",
    name: "web",
    mustStay: 1,
    available: 3,
    promised: 0,
    free: 2,
    states: ["ok"],
    isWrong: false,
    cells: [{ cell: "w1", counts: "in-force", available: 3, promised: 0, silentForMs: undefined }],
    refused: 4,
    refusedCallers: [],
    lastRefusedAt: "2026-01-01T00:00:00.000000Z",
    forced: 0,
    forcedCallers: [],
    lastForcedAt: undefined,
  };
  assert.deepEqual(standingJson(standing!, refused, undefined), expected);
  const text = JSON.stringify(statusJson([look]));
  assert(text.startsWith('{"isWrong":false,"cores":[{"core":"core","at":"2026-01-01T00:00:00.000000Z"'));
});
