import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseTime } from "../../../../src/api/micro-time.ts";
import { type Bucket, type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import {
  type CellPlan,
  type CellPlanInput,
  haveSameCounts,
  planCell,
} from "../../../../src/accounting/count/cell-plan.ts";
import { countPods } from "../../../../src/accounting/count/pod-counts.ts";
import { type Settlement } from "../../../../src/accounting/settle/settlement.ts";
import { at, byOwnTime, cell, counts, pod, SampleMemory, single, timeText, version } from "../samples.ts";
import { at as ms } from "../../../support/moment.ts";
import { longAgo } from "../../../../src/util/clock.ts";

const nothingSettled = (buckets: readonly Bucket[] = []): Settlement => ({
  buckets,
  settled: new Map(),
  fence: [],
  barrierFromMs: undefined,
  wakeAtMs: undefined,
});
const oneSettled: Settlement = { ...nothingSettled(), settled: new Map([["gone", 1]]) };
const censusOf = (uids: readonly string[], readySince = -3600, minReadySeconds = 30): CellPlanInput["census"] =>
  countPods(
    uids.map((uid) => pod(uid, { readySince: at(readySince) })),
    minReadySeconds,
    at(50),
    byOwnTime,
  );

/** `cell`: what is recorded. */
function plan(changes: Partial<CellPlanInput> & { cell?: CellStatus | undefined; memory?: SampleMemory }): CellPlan {
  const {
    cell: shown = "cell" in changes ? undefined : cell(counts(3)),
    memory = new SampleMemory(),
    ...rest
  } = changes;
  memory.shown = shown;
  return planCell({
    cellID: "a",
    memory,
    census: censusOf(["x", "y", "z"]),
    snapshot: { version: version(100), barrierSentAtMs: longAgo },
    lastEventTime: at(40),
    settlement: nothingSettled(),
    settleWindowMs: 75_000,
    nowMs: ms(1000),
    now: at(50),
    ...rest,
  });
}
const seen = (snapshotVersion: number, barrierSentAtMs = -Infinity): CellPlanInput["snapshot"] => ({
  version: version(snapshotVersion),
  barrierSentAtMs: ms(barrierSentAtMs),
});

test("version and time alone cause no write", () => {
  assert.deepEqual(plan({ snapshot: seen(500, 900), lastEventTime: at(49) }), { kind: "unchanged" });
});

test("other counts cause a write, with snapshot, time, spec and the buckets that stay", () => {
  const buckets = [single("q")];
  const result = plan({ census: censusOf(["x", "y"]), settlement: nothingSettled(buckets), snapshot: seen(120) });
  assert.deepEqual(result, {
    kind: "write",
    cell: {
      cellID: "a",
      aggregation: counts(2, {
        resourceVersion: version(120),
        countedAt: timeText(50),
        lastEventTime: timeText(40),
        countedMinReadySeconds: 30,
      }),
      admissionHistory: { buckets },
    },
  });
});

test("settled buckets cause a write", () => {
  assert.equal(plan({ settlement: oneSettled }).kind, "write");
});

test("a pod that became countable after countedAt causes a write, even at equal totals", () => {
  const countedAt = timeText(45);
  assert.equal(
    plan({ cell: cell(counts(3, { countedAt })), census: censusOf(["x", "y", "z"], 15.000001) }).kind,
    "write",
  );
  assert.equal(plan({ cell: cell(counts(3, { countedAt })), census: censusOf(["x", "y", "z"], 15) }).kind, "unchanged");
});

test("a write keeps a lastEventTime that is newer than the snapshot's, unless it is in the future", () => {
  const result = plan({ cell: cell(counts(3, { lastEventTime: timeText(45) })), settlement: oneSettled });
  assert.equal(result.kind === "write" && result.cell.aggregation.lastEventTime, timeText(45));
  const ofTheFuture = cell(counts(3, { lastEventTime: timeText(1e9) }));
  const repaired = plan({ cell: ofTheFuture, settlement: oneSettled });
  assert.equal(repaired.kind === "write" && repaired.cell.aggregation.lastEventTime, timeText(40));
  const without = plan({ settlement: oneSettled, lastEventTime: undefined });
  assert.equal(without.kind === "write" && "lastEventTime" in without.cell.aggregation, false);
});

test("a snapshot older than the recorded one writes nothing, whatever it shows", () => {
  for (const settlement of [nothingSettled(), oneSettled]) {
    assert.deepEqual(plan({ snapshot: seen(99, 999), census: censusOf(["x"]), settlement }), { kind: "behind" });
  }
  assert.equal(plan({ snapshot: seen(100), census: censusOf(["x"]) }).kind, "write");
});

test("versions of snapshots are compared as numbers", () => {
  assert.equal(
    plan({ cell: cell(counts(3, { resourceVersion: version(9) })), snapshot: seen(10), census: censusOf(["x"]) }).kind,
    "write",
  );
});

describe("first counts", () => {
  const states = {
    "of a new cell": undefined,
    "of a cell that only has buckets": cell(undefined, [single("q")]),
    "after the selector was edited (10)": cell(counts(3, { countedSpec: "former" })),
    "over a Go aggregator's": cell({ totalReplicas: 3, availableReplicas: 3 }),
  };
  for (const [name, state] of Object.entries(states)) {
    test(`first counts ${name} need a barrier sent after that was seen`, () => {
      const memory = new SampleMemory();
      const at1000 = { cell: state, memory, snapshot: seen(100, 1000) };
      assert.deepEqual(plan(at1000), { kind: "barrier", fromMs: ms(1000) });
      assert.deepEqual(plan({ ...at1000, nowMs: ms(2000) }), { kind: "barrier", fromMs: ms(1000) });
      assert.equal(plan({ ...at1000, nowMs: ms(2000), snapshot: seen(100, 1001) }).kind, "write");
    });
  }

  test("first counts need a new barrier when another aggregator wrote meanwhile and its version was dropped", () => {
    const memory = new SampleMemory();
    assert.equal(plan({ cell: undefined, memory }).kind, "barrier");
    const byOther = cell({ totalReplicas: 2, availableReplicas: 2, lastEventTime: timeText(45) });
    assert.deepEqual(plan({ cell: byOther, memory, nowMs: ms(5000), snapshot: seen(100, 4000) }), {
      kind: "barrier",
      fromMs: ms(5000),
    });
  });

  test("first counts of another spec are not written from a snapshot older than the recorded one", () => {
    const memory = new SampleMemory();
    const former = cell(counts(3, { countedSpec: "former", resourceVersion: version(200) }));
    plan({ cell: former, memory });
    assert.deepEqual(plan({ cell: former, memory, nowMs: ms(2000), snapshot: seen(199, 1500) }), { kind: "behind" });
  });

  test("first counts of a cell without pods and buckets are not written at all", () => {
    assert.deepEqual(plan({ cell: undefined, census: censusOf([]) }), { kind: "unchanged" });
  });

  test("first counts are written when the last bucket is dropped, even without pods", () => {
    const memory = new SampleMemory();
    const input = { cell: cell(undefined, [single("q", 5)]), census: censusOf([]), settlement: oneSettled, memory };
    assert.deepEqual(plan(input), { kind: "barrier", fromMs: ms(1000) });
    const result = plan({ ...input, snapshot: seen(100, 1001) });
    assert.deepEqual(result.kind === "write" && result.cell.admissionHistory, {});
  });
});

describe("a Go component that strips extensions", () => {
  const { resourceVersion: _a, countedAt: _b, countedSpec: _c, initializedReplicas: _d, ...byGo } = counts(3);
  test("extensions that a Go component dropped cause no write by the aggregator that remembers them", () => {
    const memory = new SampleMemory().counted(counts(3));
    assert.equal(plan({ cell: cell(byGo), memory }).kind, "unchanged");
    assert.equal(plan({ cell: cell(byGo), memory, settlement: oneSettled }).kind, "write");
    assert.equal(plan({ cell: cell(byGo), memory, snapshot: seen(99), settlement: oneSettled }).kind, "behind");
  });
});

test("after a restore of the core, counts wait for a window and a barrier, and are written even when equal", () => {
  const memory = new SampleMemory().counted(counts(3)).restored(1000);
  for (const [nowMs, barrierSentAtMs] of [
    [2000, 1500],
    [75_999, 75_998],
    [80_000, 75_999],
  ] as const) {
    assert.deepEqual(plan({ memory, nowMs: ms(nowMs), snapshot: seen(100, barrierSentAtMs) }), {
      kind: "barrier",
      fromMs: ms(76_000),
    });
  }
  assert.equal(plan({ memory, nowMs: ms(80_000), snapshot: seen(100, 76_000) }).kind, "write");
});

test("after a reset of the worker's history, lower versions are written after a barrier", () => {
  const memory = new SampleMemory(cell(counts(3))).counted(counts(3));
  memory.workerReset(ms(1000));
  assert.equal(plan({ memory, snapshot: seen(5) }).kind, "barrier");
  const result = plan({ memory, nowMs: ms(3000), snapshot: seen(5, 2000) });
  assert.equal(result.kind === "write" && result.cell.aggregation.resourceVersion, "5");
});

test("counts tell the newest Ready time that they do not go by, as far as it can be written", () => {
  for (const [readySince, text] of [
    [at(28_800), timeText(28_830)],
    [parseTime("9999-12-31T23:59:50Z"), "9999-12-31T23:59:59.000000Z"],
    [undefined, undefined],
  ] as const) {
    const census = countPods([pod("x", { readySince })], 30, at(50), () => at(0));
    const result = plan({ census, snapshot: seen(100) });
    assert.equal(result.kind === "write" && result.cell.aggregation.countedAhead, text);
  }
});

test("counts are the same when all six are; what Go leaves out is 0", () => {
  const { counts: zero } = countPods([], 0, at(0), byOwnTime);
  assert.equal(haveSameCounts({ totalReplicas: 0, availableReplicas: 0 }, zero), true);
  assert.equal(haveSameCounts(undefined, zero), false);
  for (const field of Object.keys(zero)) assert.equal(haveSameCounts(counts(0), { ...zero, [field]: 1 }), false, field);
});

describe("the mark of a recount", () => {
  const aggregationOf = (result: CellPlan) => (result.kind === "write" ? result.cell.aggregation : undefined);
  const marked = { recountedAt: timeText(7) };

  test("ordinary writes keep the mark of a recount, and set none", () => {
    const census = censusOf(["x", "y"]);
    assert.equal(aggregationOf(plan({ census }))?.recountedAt, undefined);
    assert.equal(aggregationOf(plan({ census, cell: cell(counts(3, marked)) }))?.recountedAt, timeText(7));
  });

  test("the write after a restore of the core sets the mark of a recount", () => {
    const memory = new SampleMemory().restored(0);
    const result = plan({ memory, cell: cell(counts(3, marked)), snapshot: seen(100, 75_000), nowMs: ms(76_000) });
    assert.equal(aggregationOf(result)?.recountedAt, timeText(50));
  });

  test("the write after a reset of the worker's history sets the mark of a recount", () => {
    const recorded = cell(counts(3, { resourceVersion: version(900) }));
    const memory = new SampleMemory(recorded);
    memory.workerReset(ms(1000));
    const input = { memory, cell: recorded, nowMs: ms(1000) };
    assert.equal(plan({ ...input, snapshot: seen(100) }).kind, "barrier");
    const result = plan({ ...input, snapshot: seen(100, 1001), nowMs: ms(2000) });
    assert.equal(aggregationOf(result)?.recountedAt, timeText(50));
  });
});

test("first counts of a PodProtector that was made again wait a settle window, and then for a barrier", () => {
  const memory = new SampleMemory();
  memory.remade(ms(1000));
  const first = (nowMs: number, barrierSentAtMs: number) =>
    plan({ cell: undefined, memory, nowMs: ms(nowMs), snapshot: seen(500, barrierSentAtMs) });
  assert.deepEqual(first(1000, 999), { kind: "barrier", fromMs: 76_000 });
  assert.deepEqual(first(90_000, 76_000), { kind: "barrier", fromMs: 76_000 });
  assert.equal(first(90_000, 76_001).kind, "write");
});
