import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseAnnotations } from "../../../../src/api/cell-lease.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { lookAt } from "../../../../src/commands/fleet/look.ts";
import {
  cellLines,
  cellsJson,
  cellsTable,
  cellTone,
  heardText,
  isCellWrong,
} from "../../../../src/commands/status/cell-lines.ts";
import { encodeLatches, latchesKey } from "../../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources } from "../../../double/index.ts";
import {
  ago,
  createCellLease,
  createFleet,
  createProtector,
  createRefusal,
  type Fleet,
  forbid,
  plainTerminal,
  systemNamespace,
} from "../support/fleet.ts";
import { goldenOf } from "../support/golden.ts";

const shown = goldenOf(import.meta.filename);

/** Three cells, one of them silent; a workload at its floor, one that is well, one that waits for the silent cell. */
async function shopFleet(): Promise<Fleet> {
  const fleet = await createFleet();
  const { core, clock } = fleet;
  await createCellLease(core, clock, undefined);
  await createCellLease(core, clock, "w1", { agoMs: 300 });
  await createCellLease(core, clock, "w2", { agoMs: 1_400 });
  await createCellLease(core, clock, "w3", { agoMs: 242_000 });
  await createProtector(core, "search", {
    minAvailable: 90,
    cells: [
      { cellID: "w1", available: 60 },
      { cellID: "w2", available: 57 },
    ],
  });
  await createProtector(core, "checkout", {
    minAvailable: 34,
    cells: [
      { cellID: "w1", available: 19 },
      { cellID: "w2", available: 15 },
    ],
    conditions: [{ type: "AtFloor", lastTransitionTime: ago(clock, 240_000) }],
  });
  await createProtector(core, "billing", {
    minAvailable: 9,
    cells: [
      { cellID: "w1", available: 4 },
      { cellID: "w2", available: 4 },
      { cellID: "w3", available: 4 },
    ],
  });
  return fleet;
}

test("status shows what is wrong first, with the numbers, the cells and the age of silent ones", async (t) => {
  const fleet = await shopFleet();
  await shown(t, fleet, "status");
});

test("status fits 80 and 120 columns and has no escape codes in a pipe", async () => {
  const fleet = await shopFleet();
  const longName = `a${"-very".repeat(40)}-long-name`;
  await createProtector(fleet.core, longName, { labels: { app: "long" }, cells: [{ cellID: "w1", available: 0 }] });
  await createProtector(fleet.core, "unmet", { minAvailable: 3, cells: [{ cellID: "w1", available: 2 }] });
  const shadow = { annotations: { [annotations.mode]: "shadow" } };
  await createProtector(fleet.core, "trial", { metadata: shadow, cells: [{ cellID: "w1", available: 2 }] });
  const conditions = [{ type: "OverrideIgnored" as const }];
  await createProtector(fleet.core, "own", { conditions, cells: [{ cellID: "w1", available: 2 }] });
  for (const columns of [80, 120]) {
    fleet.terminal = { ...fleet.terminal, columns };
    const { stdout } = await fleet.run("status");
    for (const line of stdout.split("\n")) {
      assert(line.length <= columns, `${columns}: ${line}`);
      assert.match(line, /^[\x20-\x7e…]*$/);
      assert.equal(line, line.trimEnd());
    }
  }
});

test("a wide status has the cells beside the numbers, and below where they would have to be cut", async (t) => {
  const fleet = await shopFleet();
  fleet.terminal = { ...fleet.terminal, columns: 120 };
  await shown(t, fleet, "status");
});

test("status restricted to a namespace names no other, and leaves the namespace out of the names", async (t) => {
  const fleet = await shopFleet();
  await createProtector(fleet.core, "elsewhere", { namespace: "default", cells: [{ cellID: "w1", available: 0 }] });
  await shown(t, fleet, "status", "-n", "shop");
  await shown(t, fleet, "status", "-n", "kube-public");
});

test("status of a sound fleet exits with 0 and says so", async (t) => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1");
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await shown(t, fleet, "status");
});

test("status tells refusals, held changes, a cell without reviews, and what is gone", async (t) => {
  const fleet = await shopFleet();
  const { core, clock } = fleet;
  await createRefusal(fleet, { name: "checkout", count: 251, agoMs: 12_000 });
  const uid = "11111111-2222-3333-4444-555555555555";
  await createRefusal(fleet, { name: "gone", uid, count: 1, agoMs: 1, reason: "PodProtectorLost", message: "gone" });
  await createCellLease(core, clock, "w4", { annotations: { [cellLeaseAnnotations.gate]: "missing" } });
  const latched = new Map([["namespace/shop", (clock.epochMicros() - 60_000_000) as EpochMicros]]);
  await core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName },
    data: { [latchesKey]: encodeLatches({ latched, approvals: [] }) },
  });
  await shown(t, fleet, "status");
});

test("status tells of forced deletions and who forced them, beside what was refused", async (t) => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1");
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  const message = 'Deletions by "alice" were forced that would be refused; last: Deletion of pod web-1';
  await createRefusal(fleet, { name: "web", count: 3, agoMs: 12_000, reason: "ForcedDeletion", message });
  await shown(t, fleet, "status");
  const { cores } = JSON.parse((await fleet.run("status", "--output=json")).stdout) as {
    cores: { protectors: { forced: number; forcedCallers: unknown; refused: number }[] }[];
  };
  const [{ forced, forcedCallers, refused } = assert.fail()] = cores[0]?.protectors ?? [];
  assert.deepEqual([forced, forcedCallers, refused], [3, [{ name: "alice", count: 3 }], 0]);
});

test("status says which right is missing, shows the rest, and does not call that sound", async (t) => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  forbid(fleet.core, /leases/);
  await shown(t, fleet, "status");
  forbid(fleet.core, /podprotectors/);
  await shown(t, fleet, "status");
});

test("status of 10,000 PodProtectors reads pages and shows what is wrong and a count of the rest", async (t) => {
  const fleet = await createFleet();
  const cells = [{ cellID: "w1", available: 2 }];
  const { metadata } = await createProtector(fleet.core, "web", { cells });
  const one = fleet.core.engine.get(fleet.core.protectors, "shop", "web");
  const items = Array.from({ length: 10_000 }, (_, index) => ({
    ...one,
    metadata: { ...metadata, name: `web-${index}` },
    spec: { ...(one["spec"] as object), minAvailable: index % 100 === 7 ? 3 : 1 },
  }));
  // Served page by page, as an API server does.
  const request = fleet.core.client.request.bind(fleet.core.client);
  const pages: number[] = [];
  fleet.core.client.request = async (asked) => {
    if (!asked.path.endsWith("/podprotectors")) return request(asked);
    const [from, limit] = [Number(asked.query?.["continue"] ?? 0), Number(asked.query?.["limit"])];
    pages.push(limit);
    const rest = from + limit < items.length ? { continue: String(from + limit) } : {};
    return { metadata: { resourceVersion: "9", ...rest }, items: items.slice(from, from + limit) };
  };
  await shown(t, fleet, "status");
  assert.equal(pages.length, 40);
  assert.equal((await fleet.run("status", "--all")).stdout.match(/^shop\//gm)?.length, 10_000);
});

test("status of several cores has a part for each", async (t) => {
  const fleet = await createFleet("other");
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  await shown(t, fleet, "status", "--core", "east=core", "--core", "west=other");
});

test("status -o json has the numbers, states, cells and what is unread", async () => {
  const fleet = await shopFleet();
  const json = JSON.parse((await fleet.run("status", "-o", "json")).stdout) as {
    isWrong: boolean;
    cores: {
      protectors: { name: string; free: number; states: string[] }[];
      cells: { cell: string; state: string; silentForMs?: number }[];
      generator: { heardAgoMs: number };
    }[];
  };
  assert.equal(json.isWrong, true);
  const [core] = json.cores;
  assert.deepEqual(
    core?.protectors.map(({ name, free, states }) => [name, free, states]),
    [
      ["billing", 0, ["cell silent"]],
      ["checkout", 0, ["at floor"]],
      ["search", 27, ["ok"]],
    ],
  );
  assert.deepEqual(
    [core?.cells[0]?.cell, core?.cells[0]?.silentForMs, core?.generator.heardAgoMs],
    ["w3", 242_000, 2_000],
  );
});

test("status --watch looks every two seconds until it is stopped, and clears the screen of a terminal", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 2 }] });
  fleet.terminal = { columns: 80, isColoured: true, isInteractive: true };
  const running = fleet.run("status", "--watch");
  await fleet.clock.advance(4_500);
  fleet.stop.abort();
  const { exitCode, stdout } = await running;
  assert.equal(exitCode, 0);
  const screens = stdout.split("\u001b[H\u001b[2J").slice(1);
  assert.equal(screens.length, 3);
  assert.match(screens[0] ?? "", /^2026-01-01T00:00:00Z\n/);
  assert.match(screens[2] ?? "", /^2026-01-01T00:00:04Z\n/);
  assert.match(screens[2] ?? "", /\u001b\[32mok\u001b\[0m/);
});

test("status --watch -o json prints one line for each look", async () => {
  const fleet = await createFleet();
  const running = fleet.run("status", "-w", "-o", "json");
  await fleet.clock.advance(2_500);
  fleet.stop.abort();
  const lines = (await running).stdout.trimEnd().split("\n");
  assert.equal(lines.length, 2);
  for (const line of lines) assert.equal((JSON.parse(line) as { isWrong: boolean }).isWrong, false);
});

test("status --watch on a screen that is too small keeps its top, where what is wrong stands", async () => {
  const fleet = await shopFleet();
  fleet.terminal = { columns: 80, rows: 6, isColoured: false, isInteractive: true };
  const running = fleet.run("status", "--watch");
  await fleet.clock.advance(500);
  fleet.stop.abort();
  const [, screen = ""] = (await running).stdout.split("\u001b[H\u001b[2J");
  const lines = screen.split("\n");
  assert.equal(lines.length, 6);
  assert.match(lines[2] ?? "", /^shop\/billing .* cell silent$/);
  assert.match(lines[4] ?? "", /^\(\d+ more lines\)$/);
});

test("each cell has a state and what there is to say about it", async () => {
  const { core, clock, stop } = await createFleet();
  const lease = (cellID: string, agoMs: number, annotations = {}) =>
    createCellLease(core, clock, cellID, { agoMs, annotations });
  await lease("ok", 300);
  await lease("late", 60_000);
  await lease("silent", 200_000);
  await lease("kept", 200_000, { [cellLeaseAnnotations.keepUntil]: "2026-01-01T01:00:00Z" });
  await lease("retiring", 300, { [cellLeaseAnnotations.forget]: "true" });
  await lease("missing", 300, { [cellLeaseAnnotations.gate]: "missing" });
  await lease("other", 300, { [cellLeaseAnnotations.gate]: "other-cell w7" });
  await lease("open", 300, { [cellLeaseAnnotations.gate]: "not-guarded pay,shop +2" });
  await lease("odd", 300, { [cellLeaseAnnotations.keepUntil]: "soon" });
  const bucket = { startTime: "2026-01-01T00:00:00.000000Z", podUID: "x" } as never;
  await createProtector(core, "web", {
    cells: [
      { cellID: "ok", available: 3 },
      { cellID: "go", available: 2 },
      { cellID: "ghost", admissionHistory: { buckets: [bucket] } },
    ],
  });
  const signal = stop.signal;
  const options = { core: "core", client: core.client, namespace: undefined, leaseNamespace: systemNamespace };
  const lines = cellLines(await lookAt({ ...options, clock, signal }));
  assert.deepEqual(
    lines.map(({ cellID, state, protectors, available }) => [cellID, state, protectors, available]),
    [
      ["ghost", "ghost", 1, 0],
      ["missing", "gate missing", 0, 0],
      ["open", "gate has gaps", 0, 0],
      ["other", "gate wrong", 0, 0],
      ["silent", "silent", 0, 0],
      ["go", "no heartbeat", 1, 2],
      ["kept", "silent, kept", 0, 0],
      ["late", "late", 0, 0],
      ["odd", "ok", 0, 0],
      ["ok", "ok", 1, 3],
      ["retiring", "retiring", 0, 0],
    ],
  );
  const remarksOf = (cell: string): readonly string[] => lines.find(({ cellID }) => cellID === cell)?.remarks ?? [];
  assert.deepEqual(remarksOf("kept"), ["its last counts are kept in force until 2026-01-01T01:00:00.000000Z"]);
  assert.deepEqual(remarksOf("other"), ["its API server asks the webhook for another cell: w7 (looked at every 10 s)"]);
  assert.match(remarksOf("open")[0] ?? "", /^deletions in namespaces pay, shop are not sent to the webhook/);
  assert.match(remarksOf("odd")[0] ?? "", /keep-until="soon" is ignored; allowed: an RFC 3339 time/);
  assert.deepEqual(lines.map(heardText).slice(0, 2), ["never", "0.3 s ago"]);
  assert.deepEqual([isCellWrong("retiring"), cellTone("ok"), cellTone("ghost")], [false, "good", "bad"]);
});

test("without cells there is no table, and with one it has its holder and age", async () => {
  const { core, clock, stop } = await createFleet();
  const look = () =>
    lookAt({
      core: "core",
      client: core.client,
      namespace: undefined,
      leaseNamespace: systemNamespace,
      clock,
      signal: stop.signal,
    });
  assert.equal(cellsTable(await look(), plainTerminal), "");
  await createCellLease(core, clock, "w1", { agoMs: 300 });
  const found = await look();
  assert.match(cellsTable(found, plainTerminal), /\nw1 +0\.3 s ago +0 +aggregator-w1 +ok\n$/);
  assert.deepEqual(cellsJson(found).core, "core");
});

test("a PodProtector whose deletions are not sent is not guarded, before whatever else is true of it", async () => {
  const fleet = await createFleet();
  await createCellLease(fleet.core, fleet.clock, "w1", {
    annotations: { [cellLeaseAnnotations.gate]: "not-guarded shop" },
  });
  const conditions = [{ type: "NotGuarded", message: "In cell w1 deletions of this namespace are not sent" }];
  await createProtector(fleet.core, "web", { conditions, minAvailable: 3, cells: [{ cellID: "w1", available: 2 }] });
  const { exitCode, stdout } = await fleet.run("status");
  assert.equal(exitCode, 1);
  assert.match(stdout, /^shop\/web .* not guarded$/m);
  assert.match(stdout, /^w1 .* gate has gaps$/m);
});
