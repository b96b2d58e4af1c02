import assert from "node:assert/strict";
import { test } from "node:test";
import { countPods } from "../../../../src/accounting/count/pod-counts.ts";
import { at, byOwnTime, pod } from "../samples.ts";

test("terminating and finished pods count for nothing", () => {
  const { counts } = countPods(
    [pod("x", { isTerminating: true }), pod("y", { isTerminal: true })],
    0,
    at(0),
    byOwnTime,
  );
  assert.ok(Object.values(counts).every((count) => count === 0));
});

test("each property is counted by itself", () => {
  const bare = { isScheduled: false, isInitialized: false, isRunning: false, isReady: false };
  const pods = [
    pod("a", bare),
    pod("b", { ...bare, isScheduled: true }),
    pod("c", { ...bare, isScheduled: true, isInitialized: true }),
    pod("d", { ...bare, isScheduled: true, isInitialized: true, isRunning: true }),
    pod("e"),
  ];
  assert.deepEqual(countPods(pods, 0, at(0), byOwnTime).counts, {
    totalReplicas: 5,
    scheduledReplicas: 4,
    initializedReplicas: 3,
    runningReplicas: 2,
    readyReplicas: 1,
    availableReplicas: 1,
  });
});

test("a pod is available from the exact moment on, and the next one's moment is told", () => {
  const pods = [10, 20, 40].map((seconds) => pod(String(seconds), { readySince: at(seconds) }));
  const before = countPods(pods, 30, at(49.999999), byOwnTime);
  assert.deepEqual(
    [before.counts.availableReplicas, before.nextAvailableAt, before.newestAvailableAt],
    [1, at(50), at(40)],
  );
  const then = countPods(pods, 30, at(50), byOwnTime);
  assert.deepEqual([then.counts.availableReplicas, then.nextAvailableAt, then.newestAvailableAt], [2, at(70), at(50)]);
});

test("the newest Ready time that is not gone by is told while it lies ahead, counted or not", () => {
  const pods = [8, 300, 28_800].map((seconds) => pod(String(seconds), { readySince: at(seconds) }));
  const since = (seconds: number) => (): ReturnType<typeof at> => at(seconds);
  assert.equal(countPods(pods, 30, at(50), since(20)).aheadUntil, at(28_830));
  assert.equal(countPods(pods.slice(0, 2), 30, at(50), since(20)).aheadUntil, at(330));
  assert.equal(countPods(pods.slice(0, 1), 30, at(50), since(8)).aheadUntil, undefined);
  assert.equal(countPods(pods, 30, at(40), since(20)).aheadUntil, at(28_830), "none of them is counted yet");
  assert.equal(countPods([pod("x", { readySince: undefined })], 30, at(50), since(20)).aheadUntil, undefined);
});

test("nobody is waited for when all are available or none is Ready", () => {
  const census = countPods([pod("x"), pod("y", { isReady: false, readySince: undefined })], 30, at(0), byOwnTime);
  assert.equal(census.nextAvailableAt, undefined);
  assert.equal(countPods([], 30, at(0), byOwnTime).newestAvailableAt, undefined);
});
