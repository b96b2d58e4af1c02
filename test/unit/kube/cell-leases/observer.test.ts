import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObservedCell } from "../../../../src/accounting/silence/cell-silence.ts";
import { createCellMetrics } from "../../../../src/kube/cell-leases/cell-metrics.ts";
import { at } from "../../../support/moment.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { listsSent, rawLease, rig } from "./rig.ts";

test("the Leases with the label are listed live, in pages, every 15 s", async () => {
  const { clock, client, stop, running } = rig();
  await clock.advance(60_000);
  assert.equal(listsSent(client), 5);
  const { signal: _, ...request } = client.requests[0]!;
  assert.deepEqual(request, {
    method: "GET",
    path: "/apis/coordination.k8s.io/v1/namespaces/heartbeats/leases",
    query: {
      labelSelector: "podseidon.kubewharf.io/heartbeat",
      fieldSelector: undefined,
      limit: 100,
      continue: undefined,
    },
    timeoutMs: 15_000,
  });
  stop.abort();
  await running;
  assert.equal(clock.pendingTimers, 0);
});

test("a replica is told at once that nobody is silent where there are no Leases", async () => {
  const { clock, cells } = rig();
  assert.match(cells.undecidedReason() ?? "", /^it is not known yet which cells of core are silent$/);
  await clock.advance(0);
  assert.equal(cells.undecidedReason(), undefined);
});

test("until it is decided who is silent, Leases are listed three times as often", async () => {
  const { clock, cells, client, world } = rig();
  world.leases = [rawLease("a", 1)];
  await clock.advance(4_000);
  assert.equal(cells.undecidedReason(), "it is not known yet which cells of core are silent");
  world.leases = [rawLease("a", 2)];
  await clock.advance(1_000);
  assert.equal(cells.undecidedReason(), undefined);
  assert.equal(listsSent(client), 2);
  await clock.advance(14_000);
  assert.equal(listsSent(client), 2);
});

test("a cell that falls silent and comes back is told in the log and shown in the metrics", async () => {
  const { clock, cells, world, log, value } = rig();
  world.leases = [rawLease("a", 1), rawLease(undefined, 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2), rawLease(undefined, 2)];
  await clock.advance(10_000);
  assert.equal(cells.stateOf("a", "uid").kind, "beating");
  assert.equal(value("cell_state", { cell: "a", state: "beating" }), 1);
  await clock.advance(200_000);
  assert.equal(cells.stateOf("a", "uid").kind, "silent");
  assert.deepEqual(log, ["E Cell is silent: its pods count for nothing, and deletions in it are refused a"]);
  assert.equal(value("cell_state", { cell: "a", state: "silent" }), 1);
  assert.equal(value("cell_state", { cell: "a", state: "beating" }), 0);
  assert.equal(value("cell_beat_age_seconds", { cell: "a" }), 205);
  world.leases = [rawLease("a", 3)];
  await clock.advance(15_000);
  assert.equal(cells.stateOf("a", "uid").kind, "beating");
  assert.equal(log[1], "I Cell is heard again a");
});

test("a cell is late when two LISTs have shown no beat, until it is silent, unless nobody can list", async () => {
  const { clock, cells, world } = rig();
  world.leases = [rawLease("a", 1), rawLease(undefined, 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2), rawLease(undefined, 2)];
  await clock.advance(10_000);
  assert.equal(cells.lateForMs("a"), undefined);
  await clock.advance(40_000);
  assert.equal(cells.lateForMs("a"), undefined);
  await clock.advance(10_000);
  assert.equal(cells.lateForMs("a"), 55_000);
  assert.equal(cells.lateForMs("b"), undefined, "of a cell without Lease nothing is known");
  world.failure = "network";
  await clock.advance(60_000);
  assert.equal(cells.lateForMs("a"), undefined, "it may have beaten meanwhile");
  world.failure = undefined;
  await clock.advance(300_000);
  assert.equal(cells.stateOf("a", "uid").kind, "silent");
  assert.equal(cells.lateForMs("a"), undefined);
});

test("counts of an aggregator without heartbeats keep a cell, loudly", async () => {
  const { clock, cells, world, log } = rig();
  world.leases = [rawLease("a", 1)];
  await clock.advance(1_000);
  cells.countedByOther("a");
  await clock.advance(100_000);
  assert.deepEqual(cells.stateOf("a", "uid"), { kind: "keep", reason: "other-counter" });
  assert.deepEqual(log, ["W Nothing is heard from the cell, but its last counts stay in force a"]);
});

test("without the right to list everything is as upstream has it, with one line in the log", async () => {
  const { clock, cells, world, log, value } = rig();
  world.failure = "forbidden";
  await clock.advance(60_000);
  assert.deepEqual(cells.stateOf("a", "uid"), { kind: "keep", reason: "forbidden" });
  assert.equal(cells.undecidedReason(), undefined);
  assert.deepEqual(log, [
    "W Not allowed to list the heartbeats of cells, so cells that fall silent keep their last counts",
  ]);
  assert.equal(value("cell_lease_list_total", { result: "forbidden" }), 13);
  world.failure = undefined;
  await clock.advance(5_000);
  assert.equal(log[1], "I Heartbeats of cells can be listed again");
  assert.equal(value("cell_lease_list_total", { result: "ok" }), 1);
});

test("a core that is away for five minutes silences nobody, and is told once", async () => {
  const { clock, cells, world, log } = rig();
  world.leases = [rawLease("a", 1), rawLease("b", 1)];
  await clock.advance(0);
  world.leases = [rawLease("a", 2), rawLease("b", 2)];
  await clock.advance(100_000);
  world.failure = "network";
  await clock.advance(300_000);
  world.failure = undefined;
  await clock.advance(60_000);
  assert.equal(cells.stateOf("a", "uid").kind, "beating");
  assert.equal(cells.stateOf("b", "uid").kind, "beating");
  assert.deepEqual(log, [
    "W Cannot list the heartbeats of cells, so no cell that falls silent is noticed",
    "I Heartbeats of cells can be listed again",
  ]);
  world.leases = [rawLease("a", 3), rawLease("b", 2)];
  await clock.advance(135_000);
  assert.equal(cells.stateOf("a", "uid").kind, "beating");
  assert.equal(cells.stateOf("b", "uid").kind, "silent", "three minutes after the return");
});

test("the reason why a replica waits names the last failure", async () => {
  const { clock, cells, world } = rig();
  world.failure = "timeout";
  await clock.advance(0);
  assert.equal(cells.undecidedReason(), "it is not known yet which cells of core are silent: scripted timeout");
});

test("what is no heartbeat is no cell, and a vanished cell is shown as nothing when it is forgotten", async () => {
  const { clock, cells, world, value } = rig();
  world.leases = [{ metadata: { name: "other" } }, rawLease("a", 1)];
  await clock.advance(0);
  assert.equal(value("cell_state", { cell: "a", state: "beating" }), 1);
  world.leases = [];
  await clock.advance(200_000);
  assert.deepEqual(cells.stateOf("a", "uid"), { kind: "keep", reason: "lease-vanished" });
  assert.equal(value("cell_state", { cell: "a", state: "keep" }), 1);
});

test("cells that have no Lease are counted once somebody asks for them, until they have one", async () => {
  const { clock, cells, world, value } = rig();
  await clock.advance(0);
  for (const cellID of ["a", "a", "b", "other webhook replicas"]) cells.stateOf(cellID, "uid");
  assert.equal(value("cells_without_lease"), 2);
  world.leases = [rawLease("a", 1)];
  await clock.advance(15_000);
  cells.stateOf("a", "uid");
  assert.equal(value("cells_without_lease"), 1);
});

test("more Leases than 20 pages are a failure", async () => {
  const { clock, client, value } = rig();
  client.onRequest = () => ({ metadata: { resourceVersion: "10", continue: "more" }, items: [] });
  await clock.advance(0);
  assert.equal(listsSent(client), 20);
  assert.equal(value("cell_lease_list_total", { result: "malformed" }), 1);
});

test("who has a Lease is known while LISTs succeed; without the right to list, for long, it is nobody", async () => {
  const { clock, cells, world, lists, stop, running } = rig();
  assert.equal(cells.leased(), undefined);
  world.leases = [rawLease("a", 1), rawLease(undefined, 1)];
  await clock.advance(0);
  assert.deepEqual([...(cells.leased() ?? [])], ["a"]);
  assert.deepEqual(lists, [["a"]]);
  world.failure = "network";
  await clock.advance(20_000);
  assert.equal(cells.leased(), undefined);
  assert.equal(lists.length, 1, "a LIST that fails tells nobody");
  world.failure = "forbidden";
  await clock.advance(20_000);
  assert.equal(cells.leased(), undefined, "an API server that has just started forbids everything for a moment");
  await clock.advance(200_000);
  assert.deepEqual([...(cells.leased() ?? ["nobody knows"])], []);
  stop.abort();
  await clock.advance(0);
  await running;
});

test("a cell whose Lease tells another --silent-cell-after is named in the log once for each value", async () => {
  const { clock, world, log, stop, running } = rig();
  const lasting = (cellID: string, leaseDurationSeconds: number, beat: number): unknown => {
    const raw = rawLease(cellID, beat) as { spec: object };
    return { ...raw, spec: { ...raw.spec, leaseDurationSeconds } };
  };
  const message = "W The aggregator of the cell has another --silent-cell-after, which must be the same everywhere b";
  for (let beat = 0; beat < 4; beat += 1) {
    world.leases = [lasting("a", 180, beat), lasting("b", beat < 3 ? 3600 : 60, beat), rawLease("c", beat)];
    await clock.advance(15_000);
  }
  assert.deepEqual(
    log.filter((line) => line.includes("--silent-cell-after")),
    [message, message],
  );
  stop.abort();
  await running;
});

const labels = { core: "core", observer: "webhook" };

function cell(cellID: string): ObservedCell {
  return {
    cellID,
    lease: undefined,
    state: { kind: "beating" },
    beatAt: at(1_000),
    silentSince: undefined,
    otherCounterAt: undefined,
    behind: new Map([["digest", at(0)]]),
  };
}

test("a cell that is forgotten is in no state", () => {
  const counting = createCountingMetrics();
  const metrics = createCellMetrics(counting, labels);
  metrics.show([cell("a")], at(3_000));
  assert.equal(counting.value("cell_state", { ...labels, cell: "a", state: "beating" }), 1);
  assert.equal(counting.value("cell_beat_age_seconds", { ...labels, cell: "a" }), 2);
  assert.equal(counting.value("cell_behind_podprotectors", { ...labels, cell: "a" }), 1);
  metrics.show([], at(4_000));
  assert.equal(counting.value("cell_state", { ...labels, cell: "a", state: "beating" }), 0);
  assert.equal(counting.value("cell_beat_age_seconds", { ...labels, cell: "a" }), 0);
  assert.equal(counting.value("cell_behind_podprotectors", { ...labels, cell: "a" }), 0);
});

test("at most 1,000 cells have series of their own", () => {
  const counting = createCountingMetrics();
  const metrics = createCellMetrics(counting, labels);
  metrics.show(
    Array.from({ length: 1_001 }, (_, index) => cell(`c${index}`)),
    at(3_000),
  );
  assert.equal(counting.value("cell_state", { ...labels, cell: "c999", state: "beating" }), 1);
  assert.equal(counting.value("cell_state", { ...labels, cell: "c1000", state: "beating" }), 0);
});
