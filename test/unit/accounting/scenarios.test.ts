/**
 * The sequences that broke earlier drafts of the accounting, as far as the pure core alone can tell them. Floor 2; pods
 * X, Y, Z counted.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bucket, type CellStatus } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type CellPlan, planCell } from "../../../src/accounting/count/cell-plan.ts";
import { type Disruption } from "../../../src/accounting/reserve/disruption.ts";
import { countPods } from "../../../src/accounting/count/pod-counts.ts";
import { reserve, type ReservationContext } from "../../../src/accounting/reserve/reservation.ts";
import { type Settlement } from "../../../src/accounting/settle/settlement.ts";
import {
  at,
  Bench,
  byOwnTime,
  cell,
  context,
  counts,
  disruption,
  livePod,
  lostUpTo,
  notReady,
  pod,
  protector,
  SampleMemory,
  single,
  snapshot,
  timeText,
  version,
} from "./samples.ts";
import { at as ms } from "../../support/moment.ts";

/** A PodProtector of one cell that reviews write to. */
class Protected {
  cells: readonly CellStatus[];
  constructor(cells: readonly CellStatus[] = [cell(counts(3))]) {
    this.cells = cells;
  }
  review(wish: Disruption, changes: Partial<ReservationContext> = {}): string {
    const { verdicts, status } = reserve(protector(2, this.cells, 30), [wish], context(changes));
    this.cells = status?.cells ?? this.cells;
    return verdicts[0]?.kind ?? "";
  }
  get buckets(): readonly Bucket[] {
    return this.cells[0]?.admissionHistory?.buckets ?? [];
  }
}

const alive = (...uids: string[]): ReturnType<typeof livePod>[] => uids.map((uid) => livePod(uid, 10));

function plan(
  recorded: CellStatus | undefined,
  changes: {
    memory?: SampleMemory;
    version?: number;
    barrier?: number;
    now?: number;
    settlement?: Settlement;
    pods?: number;
  },
): CellPlan {
  const memory = changes.memory ?? new SampleMemory();
  memory.shown = recorded;
  const uids = Array.from({ length: changes.pods ?? 3 }, (_, index) => pod(String(index)));
  return planCell({
    cellID: "a",
    memory,
    census: countPods(uids, 30, at(50), byOwnTime),
    snapshot: { version: version(changes.version ?? 100), barrierSentAtMs: ms(changes.barrier ?? -Infinity) },
    lastEventTime: undefined,
    settlement: changes.settlement ?? {
      buckets: [],
      settled: new Map(),
      fence: [],
      barrierFromMs: undefined,
      wakeAtMs: undefined,
    },
    settleWindowMs: 75_000,
    nowMs: ms(changes.now ?? 1000),
    now: at(50),
  });
}

test("an unseen admission stays although a later event of another pod was seen", () => {
  const object = new Protected([cell(counts(4))]);
  object.review(disruption("x"));
  object.review(disruption("y"));
  const bench = new Bench().see(object.buckets, 0);
  const { buckets } = bench.settle(0, snapshot([livePod("x", 20, true), ...alive("y", "z")], 20));
  const uids = buckets.map(({ podUID }) => podUID);
  assert.deepEqual(uids, ["y"]);
});

test("more admissions than compactThreshold are all remembered", () => {
  const object = new Protected([cell(counts(20))]);
  const config = { maxConcurrentLag: 0, compactThreshold: 3, aggregationRateMs: 1000 };
  const verdicts = Array.from({ length: 20 }, (_, index) => object.review(disruption(`p${index}`), { config }));
  assert.deepEqual(verdicts.filter((kind) => kind === "admitted").length, 18);
  assert.ok(object.buckets.length <= 3);
});

test("a deletion of a pod that is one second too young is recorded, so that it is not counted twice", () => {
  const object = new Protected([cell(counts(2, { countedAt: timeText(9) }))]);
  assert.equal(object.review(disruption("x", { as: { readySince: at(-19) } })), "admitted");
  // The watch lags; a timer counts X at 30 s.
  object.cells = [cell(counts(3, { countedAt: timeText(11) }), object.buckets)];
  assert.equal(object.review(disruption("y")), "retry");
});

test("a pod that is old enough by countedAt needs quota even when this webhook finds it young", () => {
  const object = new Protected([cell(counts(2, { countedAt: timeText(30) }))]);
  assert.equal(object.review(disruption("w", { as: { readySince: at(0) } })), "rejected");
});

test("a flapped pod looks young but was counted: its deletion has weight 1", () => {
  const object = new Protected();
  assert.equal(object.review(disruption("x", { as: { readySince: at(8) } })), "admitted");
  assert.equal(object.review(disruption("y")), "retry");
});

test("a repeated deletion is refused when pods failed meanwhile", () => {
  const object = new Protected();
  assert.equal(object.review(disruption("y")), "admitted");
  object.cells = [cell(counts(2), object.buckets)];
  assert.equal(object.review(disruption("y")), "rejected");
});

test("the eviction of a NotReady pod that is still counted has weight 1", () => {
  const object = new Protected();
  assert.equal(object.review(disruption("x", { operation: "evict", as: notReady })), "admitted");
  assert.equal(object.review(disruption("y")), "retry");
});

test("deletions of unprotected pods and forced ones have weight 1", () => {
  for (const reason of [{ isProtected: false }, { isForced: true }]) {
    const object = new Protected();
    assert.equal(object.review(disruption("w", reason)), "admitted");
    assert.equal(object.review(disruption("y")), "retry");
  }
});

test("a refused second review of a pod leaves its bucket alone", () => {
  const object = new Protected();
  object.review(disruption("x"));
  object.cells = [cell(counts(2), object.buckets)];
  assert.equal(object.review(disruption("x")), "rejected");
  const uids = object.buckets.map(({ podUID }) => podUID);
  assert.deepEqual(uids, ["x"]);
});

test("a deletion that is retried at 74 s waits from then on", () => {
  const object = new Protected();
  object.review(disruption("x", { operation: "evict" }), { now: at(0) });
  const bench = new Bench().see(object.buckets, 0);
  object.review(disruption("x", { operation: "evict" }), { now: at(74) });
  bench.see(object.buckets, 74_000);
  assert.equal(bench.settle(76_000, snapshot(alive("x"), 50, 75_500)).settled.size, 0);
  assert.equal(bench.settle(150_000, snapshot(alive("x"), 50, 149_000)).settled.size, 1);
});

test("a deletion that hangs in a stalled etcd is not settled by any time or barrier, only by the fence", () => {
  const bench = new Bench().see([single("x", 10)], 0);
  for (let nowMs = 0; nowMs < 600_000; nowMs += 7000) {
    assert.equal(bench.settle(nowMs, snapshot(alive("x"), 50, nowMs - 1)).settled.size, 0);
  }
  bench.fence("x", 600_000, 60);
  assert.equal(bench.settle(600_100, snapshot(alive("x"), 59)).settled.size, 0);
  assert.equal(bench.settle(600_200, snapshot([livePod("x", 60)], 60)).settled.size, 1);
});

test("first counts wait for a barrier: a new cell, an edited selector, a dropped version", () => {
  for (const recorded of [
    undefined,
    cell(counts(3, { countedSpec: "old" })),
    cell({ totalReplicas: 3, availableReplicas: 3 }),
  ]) {
    assert.deepEqual(plan(recorded, { barrier: 900 }), { kind: "barrier", fromMs: 1000 });
  }
});

test("after the selector was edited the former counts judge nothing", () => {
  const object = new Protected([cell(counts(100, { countedSpec: "app=a" }))]);
  assert.equal(object.review(disruption("b")), "counts-pending");
});

test("the bucket of an eviction outlasts every request of its pod; a successor of the same name is another pod", () => {
  const bench = new Bench().see([{ ...single("old"), podName: "web-0" }], 0);
  assert.equal(bench.settle(70_000, snapshot([livePod("old", 40), livePod("new", 99)], 99, 69_000)).settled.size, 0);
  // Once it is gone, a barrier proves that; what the eviction does to the successor is reported in a column of its own.
  assert.deepEqual([...bench.settle(70_000, snapshot([livePod("new", 99)], 99, 69_000)).settled.keys()], ["gone"]);
});

test("after a restore of the core, counts are not used until they are written again, even when equal", () => {
  const memory = new SampleMemory().counted(counts(3, { resourceVersion: version(120) })).restored(1000);
  const restored = cell(counts(3, { resourceVersion: version(120) }));
  const lost = lostUpTo(version(120));
  assert.equal(new Protected([restored]).review(disruption("y"), lost), "counts-pending");
  assert.equal(plan(restored, { memory, version: 130, barrier: 75_999, now: 80_000 }).kind, "barrier");
  const written = plan(restored, { memory, version: 130, barrier: 76_001, now: 80_000 });
  assert.equal(written.kind, "write");
  const after = new Protected(written.kind === "write" ? [written.cell] : []);
  assert.equal(after.review(disruption("y"), lost), "admitted");
});

test("a deposed leader and a list from a lagging server write nothing", () => {
  const newer = cell(counts(2, { resourceVersion: version(200) }));
  assert.deepEqual(plan(newer, { version: 199, pods: 3 }), { kind: "behind" });
});

test("a packed pod below the highest version of its bucket does not stay forever", () => {
  const object = new Protected([cell(counts(20))]);
  const config = { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMs: 1000 };
  object.review(disruption("x", { as: { resourceVersion: version(5) } }), { config });
  object.review(disruption("y", { as: { resourceVersion: version(90) } }), { config });
  const bench = new Bench().see(object.buckets, 0);
  const pods = [livePod("x", 5), livePod("y", 91)];
  bench.settle(0, snapshot(pods, 91));
  assert.deepEqual(bench.settle(10_000, snapshot(pods, 91)).fence, ["x"]);
  bench.fence("x", 10_000, 89);
  assert.deepEqual(bench.settle(10_001, snapshot([livePod("x", 89), livePod("y", 91)], 91)).buckets, []);
});

test("an eviction removes the version of a DELETE's bucket, single or packed, so that no version settles it", () => {
  const config = { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMs: 1000 };
  for (const others of [[], ["p", "q"]]) {
    const object = new Protected([cell(counts(20))]);
    for (const uid of ["x", ...others]) object.review(disruption(uid), { config });
    assert.equal(object.review(disruption("x", { operation: "evict" }), { config }), "admitted");
    const bench = new Bench().see(object.buckets, 0);
    const { buckets } = bench.settle(1000, snapshot([livePod("x", 99), livePod("p", 99), livePod("q", 99)], 99));
    const uids = buckets.map(({ podUID }) => podUID);
    assert.deepEqual(uids, ["x"]);
    // Another DELETE does not bring the version back.
    object.review(disruption("x", { as: { resourceVersion: version(99) } }), { config });
    assert.equal(object.buckets.find(({ podUID }) => podUID === "x")?.podResourceVersion, undefined);
  }
});

test("a Go webhook that drops extensions costs the aggregator that wrote them no barrier", () => {
  const memory = new SampleMemory().counted(counts(3));
  const { resourceVersion: _a, countedAt: _b, countedSpec: _c, initializedReplicas: _d, ...byGo } = counts(3);
  assert.equal(plan(cell(byGo), { memory }).kind, "unchanged");
  assert.equal(plan(cell(byGo), { memory, pods: 2 }).kind, "write");
});

test("a patch without an answer proves nothing, not even with a second one that returns an old version", () => {
  const object = new Protected();
  object.review(disruption("x"));
  const bench = new Bench().see(object.buckets, 0);
  bench.fences.sending("x", ms(10_000));
  bench.fences.failed("x", ms(10_000), "unanswered");
  // It had moved the pod to 11, where the deletion was reviewed again.
  object.review(disruption("x", { as: { resourceVersion: version(11) } }));
  bench.see(object.buckets, 12_000);
  const moved = snapshot([livePod("x", 11)], 11);
  assert.equal(bench.settle(12_000, moved).settled.size, 0);
  bench.fence("x", 22_000, 12);
  assert.equal(bench.settle(22_500, moved).settled.size, 0);
  assert.equal(bench.settle(23_000, snapshot([livePod("x", 12)], 12)).settled.size, 1);
});

test("a packed pod that is reviewed again in a batch that packs is not settled by a fence from before", () => {
  const object = new Protected([cell(counts(20))]);
  const config = { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMs: 1000 };
  for (const uid of ["x", "p"]) object.review(disruption(uid), { config });
  const bench = new Bench().see(object.buckets, 0);
  bench.fence("x", 10_000, 11);
  // The deletion is reviewed again at the version that the fence made, before the aggregator's watch has it.
  object.review(disruption("x", { as: { resourceVersion: version(11) } }), { config });
  bench.see(object.buckets, 10_500);
  const { buckets } = bench.settle(10_600, snapshot([livePod("x", 11), livePod("p", 10)], 11));
  assert.ok(buckets.some(({ podUID }) => podUID === "x"));
});

test("a forged or foreign version settles by a barrier when the pod is gone, by a fence when it is alive", () => {
  const bench = new Bench().see([single("gone", "9".repeat(39)), single("x", "9".repeat(39))], 0);
  const first = bench.settle(11_000, snapshot(alive("x"), 50, 10_500));
  assert.deepEqual([...first.settled], [["gone", 1]]);
  bench.see(first.buckets, 11_000);
  assert.deepEqual(bench.settle(21_000, snapshot(alive("x"), 50, 10_500)).fence, ["x"]);
  bench.fence("x", 21_000, 51);
  assert.deepEqual([...bench.settle(21_500, snapshot([livePod("x", 51)], 51, 10_500)).settled], [["fenced", 1]]);
});

test("a deletion that another policy refuses forever is fenced more and more rarely", () => {
  const bench = new Bench();
  let podVersion = 10;
  let fences = 0;
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 1000) {
    // The controller retries at once after each fence.
    if (bench.buckets.length === 0) bench.see([single("x", podVersion, nowMs / 1000)], nowMs);
    const result = bench.settle(nowMs, snapshot([livePod("x", podVersion)], podVersion));
    if (result.buckets.length === 0) bench.see([], nowMs);
    for (const uid of result.fence) {
      fences += 1;
      podVersion += 1;
      bench.fence(uid, nowMs, podVersion);
    }
  }
  assert.ok(fences >= 40 && fences <= 55, `${fences} fences in an hour`);
});
