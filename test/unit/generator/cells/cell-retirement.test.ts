import assert from "node:assert/strict";
import { test } from "node:test";
import { type CellState, type ObservedCell } from "../../../../src/accounting/silence/cell-silence.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName, readCellLease } from "../../../../src/api/cell-lease.ts";
import { CellRetirement } from "../../../../src/generator/cells/cell-retirement.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { type JsonObject } from "../../../double/index.ts";
import { BeatingCells, leaseEvents, silentAfterMs } from "../beating-cells.ts";
import { type Core, createCore, type GeneratorProcess } from "../core-cluster.ts";

const times = silenceTimes(180_000);
const at = (seconds: number): MonotonicMs => (seconds * 1_000) as MonotonicMs;

interface Seen {
  readonly beat?: number;
  readonly isAsked?: boolean;
  readonly silentSince?: MonotonicMs;
  readonly state?: CellState;
}
function cell({ beat = 1, isAsked = true, silentSince, state = { kind: "beating" } }: Seen = {}): ObservedCell {
  const lease = readCellLease({
    metadata: {
      name: cellLeaseName("a"),
      resourceVersion: "1",
      labels: { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: "a" },
      annotations: isAsked ? { [cellLeaseAnnotations.forget]: "true" } : {},
    },
    spec: { renewTime: `2026-01-01T00:00:00.${String(beat).padStart(6, "0")}Z` },
  });
  return { cellID: "a", lease, state, beatAt: at(0), silentSince, behind: new Map() };
}
/** Rounds every 15 s from one moment to another; the last verdict. */
function rounds(retirement: CellRetirement, from: number, to: number, seen: (second: number) => Seen = () => ({})) {
  let verdict: string | undefined;
  for (let second = from; second <= to; second += 15)
    verdict = retirement.judge([cell(seen(second))], at(second)).get("a");
  return verdict;
}

test("a cell that is silent already is retired at once, also when its counts are kept", () => {
  for (const state of [
    { kind: "silent", since: at(0) },
    { kind: "keep", reason: "policy" },
    { kind: "keep", reason: "keep-until" },
  ] as const) {
    const retirement = new CellRetirement(times);
    assert.equal(
      rounds(retirement, 0, 0, () => ({ silentSince: at(0), state })),
      "retiring",
    );
    assert.ok(retirement.isRetiring("a"));
    assert.ok(!retirement.isRetiring("b"));
  }
});

test("a cell that is not silent yet is retired when nobody has counted it for as long as makes it silent", () => {
  const retirement = new CellRetirement(times);
  assert.equal(rounds(retirement, 0, 165), "waiting");
  assert.ok(!retirement.isRetiring("a"));
  assert.equal(rounds(retirement, 180, 180), "retiring");
});

test("without a request nothing is retired, and a request that is taken back is forgotten", () => {
  const retirement = new CellRetirement(times);
  const silent = { silentSince: at(0), state: { kind: "silent", since: at(0) } } as const;
  assert.equal(
    rounds(retirement, 0, 30, () => ({ ...silent, isAsked: false })),
    undefined,
  );
  assert.equal(
    rounds(retirement, 45, 45, () => silent),
    "retiring",
  );
  assert.equal(
    rounds(retirement, 60, 60, () => ({ ...silent, isAsked: false })),
    undefined,
  );
  assert.ok(!retirement.isRetiring("a"));
});

test("a cell that goes on beating is refused, and stays refused while the request stands", () => {
  const retirement = new CellRetirement(times);
  assert.equal(
    rounds(retirement, 0, 45, (second) => ({ beat: second })),
    "waiting",
  );
  assert.equal(
    rounds(retirement, 60, 60, () => ({ beat: 60 })),
    "refused",
  );
  assert.equal(
    rounds(retirement, 75, 600, () => ({ beat: 60 })),
    "refused",
  );
});

test("the last beats of an aggregator that is being stopped only start the wait again", () => {
  const retirement = new CellRetirement(times);
  assert.equal(
    rounds(retirement, 0, 30, (second) => ({ beat: second })),
    "waiting",
  );
  assert.equal(
    rounds(retirement, 45, 195, () => ({ beat: 30 })),
    "waiting",
  );
  assert.equal(
    rounds(retirement, 210, 210, () => ({ beat: 30 })),
    "retiring",
  );
});

test("counts without beats count as well: an aggregator without heartbeats is refused like any other", () => {
  const retirement = new CellRetirement(times);
  retirement.counted("a", at(0));
  rounds(retirement, 0, 30);
  retirement.counted("a", at(40));
  assert.equal(rounds(retirement, 45, 60), "waiting");
  retirement.counted("a", at(70));
  assert.equal(rounds(retirement, 75, 75), "refused");
});

test("a cell that somebody counts again while it is retired is refused", () => {
  const retirement = new CellRetirement(times);
  const silent = { silentSince: at(0), state: { kind: "silent", since: at(0) } } as const;
  assert.equal(
    rounds(retirement, 0, 60, () => silent),
    "retiring",
  );
  retirement.counted("a", at(70));
  assert.equal(
    rounds(retirement, 75, 75, () => silent),
    "refused",
  );
});

test("a silent cell that comes back right after the request is refused at once", () => {
  for (const isBeat of [true, false]) {
    const retirement = new CellRetirement(times);
    const silent = { silentSince: at(0), state: { kind: "silent", since: at(0) } } as const;
    rounds(retirement, 0, 15, () => silent);
    assert.ok(retirement.isRetiring("a"));
    if (!isBeat) retirement.counted("a", at(20));
    assert.equal(
      rounds(retirement, 30, 30, () => (isBeat ? { beat: 2 } : silent)),
      "refused",
    );
  }
});

test("what another aggregator counts since the last beat is not taken for silence", () => {
  const retirement = new CellRetirement(times);
  const other = { silentSince: at(0), state: { kind: "keep", reason: "other-counter" } } as const;
  assert.equal(
    rounds(retirement, 0, 165, () => other),
    "waiting",
  );
  assert.equal(
    rounds(retirement, 180, 180, () => other),
    "retiring",
  );
});

test("a hole between two LISTs starts the wait again", () => {
  const retirement = new CellRetirement(times);
  rounds(retirement, 0, 165);
  assert.equal(rounds(retirement, 225, 390), "waiting");
  assert.equal(rounds(retirement, 405, 405), "retiring");
});

/** By an aggregator without heartbeats, unless `countedMinReadySeconds` is set. */
const counted = (cellID: string, available: number, second = 0, extensions: JsonObject = {}): JsonObject => ({
  cellID,
  aggregation: {
    ...extensions,
    totalReplicas: available,
    availableReplicas: available,
    lastEventTime: `2026-01-01T00:00:0${second}.000000Z`,
  },
  admissionHistory: { buckets: [{ startTime: "2026-01-01T00:00:00.000000Z", podUID: "u-1" }] },
});

async function start(): Promise<{ core: Core; cells: BeatingCells; generator: GeneratorProcess }> {
  const core = await createCore();
  const cells = new BeatingCells(core);
  await cells.start("a", "old");
  const generator = core.startGenerator();
  await generator.ready();
  return { core, cells, generator };
}
async function createCounted(core: Core, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `mine-${index}`);
  for (const name of names) {
    await core.createProtector(name);
    await core.writeCells(name, [counted("a", 3), counted("old", 2, 0, { countedMinReadySeconds: 0 })]);
  }
  return names;
}
function cellsOf(core: Core, name: string): string[] {
  return (core.protector(name)!.status!["cells"] as { cellID: string }[]).map(({ cellID }) => cellID);
}

test("a retired cell leaves all PodProtectors, some at a time, and then its Lease goes", async () => {
  const { core, cells, generator } = await start();
  const names = await createCounted(core, 400);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  assert.ok(
    names.every((name) => cellsOf(core, name).includes("old")),
    "they have not stood unchanged yet",
  );
  await cells.advance(70_000);
  assert.equal(names.filter((name) => cellsOf(core, name).includes("old")).length, 100);
  assert.equal(generator.gauge("generator_retiring_cells"), 1);
  assert.notEqual(cells.find("old"), undefined);
  await cells.advance(60_000);
  assert.ok(names.every((name) => cellsOf(core, name).join() === "a"));
  assert.partialDeepStrictEqual(core.protector("mine-7")?.status?.["summary"], {
    totalReplicas: 3,
    aggregatedAvailableReplicas: 3,
    estimatedAvailableReplicas: 2,
  });
  assert.equal(cells.find("old"), undefined);
  assert.deepEqual(leaseEvents(core).toSorted(), ["CellRetired", "CellRetiring", "CellSilent"]);
  assert.equal(generator.metrics.value("generator_cells_removed_total", { reason: "retired" }), 400);
  assert.equal(generator.gauge("generator_retiring_cells"), 0);
});

test("an entry in which somebody admits or counts meanwhile stays until it has stood unchanged again", async () => {
  const { core, cells } = await start();
  const [name = "", other = ""] = await createCounted(core, 2);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  await cells.advance(60_000);
  await core.writeCells(name, [counted("a", 3), counted("old", 2, 0, { countedMinReadySeconds: 7 })]);
  await cells.advance(60_000);
  assert.deepEqual([cellsOf(core, name), cellsOf(core, other)], [["a", "old"], ["a"]]);
  assert.notEqual(cells.find("old"), undefined);
  await cells.advance(60_000);
  assert.deepEqual(cellsOf(core, name), ["a"]);
});

test("a cell that beats is refused: an Event says why, the request is taken off, and nothing is removed", async () => {
  const { core, cells } = await start();
  const [name = ""] = await createCounted(core, 1);
  await cells.annotate("old", "forget", "true");
  await cells.advance(120_000);
  assert.deepEqual(leaseEvents(core), ["CellNotRetired"]);
  assert.equal(cells.find("old")?.metadata.annotations?.["podseidon.kubewharf.io/forget"], undefined);
  // The request does not lie in wait for an outage.
  cells.stop("old");
  await cells.advance(2 * silentAfterMs);
  assert.deepEqual(cellsOf(core, name), ["a", "old"]);
  assert.notEqual(cells.find("old"), undefined);
});

test("for a cell without heartbeats a person creates the Lease; it goes when the cell has been retired", async () => {
  const { core, cells } = await start();
  const [name = ""] = await createCounted(core, 1);
  await core.writeCells(name, [counted("a", 3), counted("go", 2)]);
  await cells.create("go", { "podseidon.kubewharf.io/forget": "true" });
  await cells.advance(silentAfterMs - 20_000);
  assert.deepEqual(cellsOf(core, name), ["a", "go"]);
  await cells.advance(135_000);
  assert.deepEqual(cellsOf(core, name), ["a"]);
  assert.equal(cells.find("go"), undefined);
});

test("a cell that an aggregator without heartbeats counts is refused, and the Lease that asked goes", async () => {
  const { core, cells } = await start();
  const [name = ""] = await createCounted(core, 1);
  await core.writeCells(name, [counted("a", 3), counted("go", 2)]);
  await cells.create("go", { "podseidon.kubewharf.io/forget": "true" });
  for (let second = 1; second <= 4; second += 1) {
    await cells.advance(20_000);
    await core.writeCells(name, [counted("a", 3), counted("go", 2, second)]);
  }
  await cells.advance(20_000);
  assert.deepEqual(leaseEvents(core), ["CellNotRetired"]);
  assert.equal(cells.find("go"), undefined);
  await cells.advance(2 * silentAfterMs);
  assert.deepEqual(cellsOf(core, name), ["a", "go"]);
});

test("a new leader goes on with a retirement that the last one has begun", async () => {
  const { core, cells, generator } = await start();
  const names = await createCounted(core, 400);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  generator.kill();
  const next = core.startGenerator();
  await next.ready();
  await cells.advance(120_000);
  assert.ok(names.every((name) => cellsOf(core, name).join() === "a"));
  assert.equal(cells.find("old"), undefined);
});

test("an aggregator that comes back at the last moment keeps its Lease", async () => {
  const { cells, generator } = await start();
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  generator.client.onRequest = async ({ method }) => {
    if (method === "DELETE") await cells.beat("old");
    return undefined;
  };
  await cells.annotate("old", "forget", "true");
  await cells.advance(20_000);
  assert.notEqual(cells.find("old"), undefined);
});
