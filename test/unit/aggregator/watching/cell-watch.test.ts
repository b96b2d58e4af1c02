import assert from "node:assert/strict";
import { test } from "node:test";
import { createSyncTime } from "../../../../src/accounting/settle/sync-time.ts";
import { CellWatch } from "../../../../src/aggregator/watching/cell-watch.ts";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type Informer, type InformerHandler } from "../../../../src/kube/informer.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { version } from "../../accounting/samples.ts";

/** A CellWatch over an informer that a test moves by hand; what the handler hears is in `happened`. */
function bench() {
  const clock = createVirtualClock();
  const happened: string[] = [];
  const steps: number[] = [];
  let handler: InformerHandler<PodRecord> | undefined;
  let reached: ResourceVersion | undefined;
  let barrier = version(1);
  const informer: Partial<Informer<PodRecord>> = {
    version: () => reached,
    get: () => undefined,
    size: 0,
    subscribe: (subscribed) => void (handler = subscribed),
    relist: () => void happened.push("relist"),
  };
  const cell = new CellWatch({
    pods: informer as Informer<PodRecord>,
    syncTime: createSyncTime({ kind: "observed" }),
    barriers: {
      list: async () => barrier,
      onWaiting() {},
      onError: (error) => assert.fail(String(error)),
      onErrorsOver() {},
    },
    clock,
    handler: {
      onPodEvent: ({ object }) => happened.push(`pod ${object.name}, in the snapshot: ${inSnapshot(object.uid)}`),
      onProgress: () => happened.push("progress"),
      onBarrierPassed: () => happened.push(`passed ${self.cell.barriers.passedSentAtMs}`),
      onWentBack: (to) => happened.push(`back to ${to}`),
      onHistoryReset: () => happened.push(`reset, snapshot: ${self.cell.snapshot()?.version}`),
      onListedAfterReset: () => happened.push("listed after reset"),
      onReadyTimeDoubted: ({ name }) => happened.push(`${name} is ahead`),
      onWallClockSet: (stepMs) => steps.push(Math.round(stepMs)),
    },
  });
  const inSnapshot = (uid: string): boolean => self.cell.snapshot()?.find(uid) !== undefined;
  const self = {
    cell,
    clock,
    happened,
    steps,
    handler: handler!,
    answerBarriers: (number: number) => void (barrier = version(number)),
    /** A list or an event has brought the snapshot to this version. */
    reach: (number: number) => {
      reached = version(number);
      self.handler.onProgress?.(reached);
    },
    taken: () => happened.splice(0),
  };
  return self;
}

test("a pod is in the snapshot when its event is reported", () => {
  const { handler, happened, reach, cell } = bench();
  reach(5);
  const pod = readPodRecord({ metadata: { name: "a", namespace: "default", uid: "uid-a", resourceVersion: "5" } })!;
  handler.onEvent({ type: "added", object: pod });
  assert.deepEqual(happened, ["progress", "pod a, in the snapshot: true"]);
  assert.equal(cell.pods.byUID("uid-a"), pod);
});

test("the first list is a barrier from the start of the pod informer on, and a later list is none", async () => {
  const { cell, clock, handler, reach, taken } = bench();
  await clock.advance(100);
  cell.podsStarting();
  await clock.advance(50);
  reach(5);
  handler.onListed?.(true, undefined);
  assert.deepEqual(taken(), ["progress", "passed 100"]);
  await clock.advance(50);
  reach(6);
  handler.onListed?.(false, undefined);
  assert.deepEqual(taken(), ["progress"]);
  assert.equal(cell.snapshot()?.barrierSentAtMs, 100);
});

test("after a reset of the worker's history there is no snapshot until the next list, which is a barrier", async () => {
  const { cell, clock, handler, reach, answerBarriers, taken } = bench();
  const leadership = new AbortController();
  reach(50);
  cell.barriers.start(leadership.signal);
  answerBarriers(20);
  cell.barriers.want(clock.monotonicMs());
  await clock.advance(10);
  assert.deepEqual(taken(), ["progress", "reset, snapshot: undefined", "relist"]);
  const resetAtMs = 1;

  // The watch of the former history may go on for a while.
  reach(51);
  assert.deepEqual(taken(), []);
  assert.equal(cell.version(), undefined);
  assert.equal(cell.snapshot(), undefined);

  reach(21);
  handler.onListed?.(false, undefined);
  assert.deepEqual(taken(), ["progress", `passed ${resetAtMs}`, "listed after reset"]);
  assert.equal(cell.snapshot()?.version, "21");
  assert.equal(cell.snapshot()?.barrierSentAtMs, resetAtMs);
  leadership.abort();
});

test("a step of the wall clock in either direction is reported once, with its size", async () => {
  const { clock, reach, steps } = bench();
  await clock.advance(100_000);
  reach(1);
  assert.deepEqual(steps, [], "time that passes is no step");
  clock.jumpWallClock(3_600_000);
  reach(2);
  reach(3);
  assert.deepEqual(steps, [3_600_000]);
  clock.jumpWallClock(-7_200_000);
  reach(4);
  reach(5);
  assert.deepEqual(steps, [3_600_000, -7_200_000]);
});

test("small corrections of the wall clock are reported when they have added up to a second", async () => {
  const { clock, reach, steps } = bench();
  for (let correction = 0; correction < 30; correction++) {
    clock.jumpWallClock(100);
    await clock.advance(1000);
    reach(correction + 1);
  }
  assert.equal(steps.length, 3);
  for (const stepMs of steps) assert.ok(stepMs >= 999 && stepMs <= 1100, String(stepMs));
});
