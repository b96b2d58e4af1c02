import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObservedCell } from "../../../../src/accounting/silence/cell-silence.ts";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName, readCellLease } from "../../../../src/api/cell-lease.ts";
import { CellRetirement } from "../../../../src/generator/cells/cell-retirement.ts";
import { type RetirementVerdict } from "../../../../src/generator/cells/leaving-cells.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { type JsonObject } from "../../../double/index.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";
import { BeatingCells, leaseEvents, silentAfterMs } from "../beating-cells.ts";
import { type Core, createCore, type GeneratorProcess } from "../core-cluster.ts";

const at = (seconds: number): MonotonicMs => (seconds * 1_000) as MonotonicMs;

interface Seen {
  /** When the last beat was seen, in seconds. */
  readonly beat?: number;
  readonly request?: "true" | "now" | "false";
  /** In seconds. */
  readonly silentSince?: number;
  /** The same, of counts by an aggregator without heartbeats. */
  readonly counted?: number;
}
function cell({ beat = 0, request = "true", silentSince, counted: countedAt }: Seen): ObservedCell {
  const lease = readCellLease({
    metadata: {
      name: cellLeaseName("a"),
      resourceVersion: "1",
      labels: { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: "a" },
      annotations: request === "false" ? {} : { [cellLeaseAnnotations.forget]: request },
    },
    spec: { holderIdentity: "aggregator" },
  });
  return {
    cellID: "a",
    lease,
    state: { kind: "beating" },
    beatAt: at(beat),
    silentSince: silentSince === undefined ? undefined : at(silentSince),
    otherCounterAt: countedAt === undefined ? undefined : at(countedAt),
    behind: new Map(),
  };
}

function protectorOf(name: string, cellIDs: readonly string[]): StoredProtector {
  const read = readProtector({
    metadata: { namespace: "default", name, uid: "1", resourceVersion: "1" },
    spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
    status: {
      cells: cellIDs.map((cellID) => ({ cellID })),
      summary: { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 },
    },
  });
  assert.ok(read.ok);
  return read.stored;
}

class Bench {
  readonly clock = createVirtualClock();
  readonly events: string[] = [];
  readonly written: string[] = [];
  changed = "";
  readonly retirement: CellRetirement;

  constructor() {
    this.retirement = new CellRetirement({
      times: silenceTimes(180_000),
      protectors: { values: () => [protectorOf("web", ["a"])].values() },
      removals: { retiring: () => false, changed: () => this.changed },
      writes: {
        reference: () => ({ apiVersion: "v1", kind: "Lease", name: "lease" }),
        annotate: async (_lease, key, value) => {
          this.written.push(`${key}=${value}`);
          return "written";
        },
        remove: async () => "written",
      },
      events: { record: (_regarding, _type, reason, message) => void this.events.push(`${reason} ${message}`) },
      clock: this.clock,
      logger: new RecordedLog(),
    });
  }

  /** Rounds every 15 s, up to that second; the last verdict. */
  async rounds(until: number, seen: (second: number) => Seen = () => ({})): Promise<RetirementVerdict | undefined> {
    for (;;) {
      const second = this.clock.monotonicMs() / 1000;
      await this.retirement.update([cell(seen(second))], new AbortController().signal);
      if (second >= until) return this.retirement.verdictOn("a");
      await this.clock.advance(15_000);
    }
  }
}

test("a cell that was not heard for as long as makes it silent is retired, whatever keeps its counts", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(0, () => ({ silentSince: -180 })), "retiring");
  assert.equal(bench.retirement.verdictOn("b"), undefined);
  assert.deepEqual(bench.retirement.sizes(), { retiring: 1, retiringProtectors: 1 });
  assert.deepEqual(bench.events, ['CellRetiring Removing cell "a" from 1 PodProtectors']);
});

test("a cell that was found silent by the shorter times of a start waits for the whole time", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(165, () => ({ silentSince: 0 })), "waiting");
  assert.equal(await bench.rounds(180, () => ({ silentSince: 0 })), "retiring");
});

test("without a request nothing is retired, and a request that is taken back is forgotten", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(30, () => ({ request: "false", silentSince: -600 })), undefined);
  assert.equal(await bench.rounds(45, () => ({ silentSince: -600 })), "retiring");
  assert.equal(await bench.rounds(60, () => ({ request: "false", silentSince: -600 })), undefined);
});

test("a cell that goes on beating is refused, until the request is gone", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(45, (second) => ({ beat: second })), "waiting");
  assert.equal(await bench.rounds(60, (second) => ({ beat: second })), "refused");
  assert.equal(await bench.rounds(600, () => ({ beat: 60, silentSince: 60 })), "refused");
  assert.equal(bench.written[0], "podseidon.kubewharf.io/forget=null");
});

test("the last beats of an aggregator that is being stopped are no reason to refuse", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(195, (second) => ({ beat: Math.min(second, 30) })), "waiting");
  assert.equal(await bench.rounds(210, () => ({ beat: 30, silentSince: 30 })), "retiring");
});

test("a cell that is back is not retired any more, whenever it was asked for", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(15, () => ({ silentSince: -600 })), "retiring");
  assert.equal(await bench.rounds(30, () => ({ beat: 30 })), "waiting");
  assert.equal(await bench.rounds(60, (second) => ({ beat: second })), "refused");
});

test("an aggregator without heartbeats that counts the cell is refused like any other", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(45, () => ({ counted: 40, silentSince: -600 })), "waiting");
  assert.equal(await bench.rounds(75, () => ({ counted: 70, silentSince: -600 })), "refused");
});

test("what an aggregator without heartbeats counted before the request is awaited for the same time", async () => {
  const bench = new Bench();
  assert.equal(await bench.rounds(165, () => ({ counted: -10, silentSince: -600 })), "waiting");
  assert.equal(await bench.rounds(180, () => ({ counted: -10, silentSince: -600 })), "retiring");
});

test("a hurried request takes out a cell that is counted without heartbeats, and none that beats", async () => {
  const bench = new Bench();
  const seen = { request: "now", counted: 0, silentSince: -600 } as const;
  assert.equal(await bench.rounds(60, () => seen), "hurried");
  assert.deepEqual(bench.retirement.sizes(), { retiring: 1, retiringProtectors: 1 });
  const beating = new Bench();
  assert.equal(await beating.rounds(60, (second) => ({ request: "now", beat: second })), "refused");
});

test("entries that change while the cell is retired are told, once for each news", async () => {
  const bench = new Bench();
  await bench.rounds(0, () => ({ silentSince: -600 }));
  bench.changed = "default/web (counted)";
  await bench.rounds(60, () => ({ silentSince: -600 }));
  bench.changed = "default/web (deletions of web-1)";
  await bench.rounds(90, () => ({ silentSince: -600 }));
  const told = bench.events.filter((text) => text.startsWith("CellChanges"));
  assert.equal(told.length, 2);
  assert.match(told[0]!, /podseidon cells forget a --now\. Changed: default\/web \(counted\)$/);
  assert.match(told[1]!, /Changed: default\/web \(deletions of web-1\)$/);
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
  await cells.advance(90_000);
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

test("many entries that change keep no other waiting, and a hurried request takes them all the same", async () => {
  const { core, cells } = await start();
  const names = await createCounted(core, 155);
  await core.createProtector("still");
  const ours = { countedMinReadySeconds: 0 };
  await core.writeCells("still", [counted("old", 2, 0, ours)]);
  cells.stop("old");
  await cells.advance(silentAfterMs + 60_000);
  await cells.annotate("old", "forget", "true");
  for (let change = 1; change <= 2; change += 1) {
    await cells.advance(60_000);
    for (const name of names) await core.writeCells(name, [counted("a", 3), counted("old", 2, change, ours)]);
  }
  assert.deepEqual(cellsOf(core, "still"), []);
  assert.ok(names.every((name) => cellsOf(core, name).includes("old")));
  await cells.advance(20_000);
  assert.ok(leaseEvents(core).includes("CellChanges"));
  await cells.annotate("old", "forget", "now");
  await cells.advance(60_000);
  assert.ok(names.every((name) => cellsOf(core, name).join() === "a"));
  assert.equal(cells.find("old"), undefined);
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
  await cells.advance(140_000);
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
