import assert from "node:assert/strict";
import { test } from "node:test";
import {
  availableFrom,
  canMeet,
  countFor,
  criterionFor,
  healthCriteria,
  saidFor,
} from "../../../../src/accounting/count/health-criterion.ts";
import { at, counts, pod } from "../samples.ts";

test("a Ready pod is available minReadySeconds after it became Ready, without them at once", () => {
  assert.equal(availableFrom(pod("x", { readySince: at(5) }), 30), at(35));
  // Also with a transition time in the future.
  assert.equal(availableFrom(pod("x", { readySince: at(99_999) }), 0), 0);
  assert.equal(availableFrom(pod("x", { readySince: at(5) }), -3), 0);
  assert.equal(availableFrom(pod("x", { readySince: undefined }), 0), 0);
});

test("no passing of time makes a pod available that is not Ready, terminating, finished or without a time", () => {
  for (const changes of [
    { isReady: false },
    { isTerminating: true },
    { isTerminal: true },
    { readySince: undefined },
  ]) {
    assert.equal(availableFrom(pod("x", changes), 30), undefined);
  }
});

test("each criterion looks at its own property", () => {
  const properties = {
    Scheduled: "isScheduled",
    Initialized: "isInitialized",
    Running: "isRunning",
    Ready: "isReady",
  } as const;
  for (const criterion of healthCriteria) {
    assert.equal(canMeet(criterion, pod("x")), true);
    assert.equal(canMeet(criterion, pod("x", { isTerminating: true })), false);
    assert.equal(canMeet(criterion, pod("x", { isTerminal: true })), false);
    for (const [name, property] of Object.entries(properties)) {
      const isAffected = name === criterion || (name === "Ready" && criterion === "Available");
      assert.equal(canMeet(criterion, pod("x", { [property]: false })), !isAffected, `${criterion} without ${name}`);
    }
  }
});

test("each criterion compares its own count; absent ones are 0, and Initialized falls back to Ready", () => {
  const full = {
    totalReplicas: 9,
    availableReplicas: 1,
    readyReplicas: 2,
    runningReplicas: 3,
    initializedReplicas: 4,
    scheduledReplicas: 5,
  };
  assert.deepEqual(
    healthCriteria.map((criterion) => countFor(criterion, full, {})),
    [5, 4, 3, 2, 1],
  );
  const { initializedReplicas: _, ...byGo } = counts(7);
  assert.equal(countFor("Initialized", byGo, {}), 7);
  const bare = { totalReplicas: 9, availableReplicas: 1 };
  assert.deepEqual(
    healthCriteria.map((criterion) => countFor(criterion, bare, {})),
    [0, 0, 0, 0, 1],
  );
});

test("no count of a cell is above the limit of the PodProtector, whatever its aggregator says", () => {
  const said = { totalReplicas: 999_999, availableReplicas: 999_999, readyReplicas: 5, runningReplicas: 4 };
  assert.deepEqual(
    (["Available", "Ready", "Running"] as const).map((criterion) => countFor(criterion, said, { maxPodsPerCell: 5 })),
    [5, 5, 4],
  );
  assert.equal(saidFor("Available", said), 999_999);
});

test("a PodProtector judges by what is asked for, else by its own criterion, else by Available", () => {
  assert.equal(criterionFor("Ready", { healthCriterion: "Running" }), "Ready");
  assert.equal(criterionFor(undefined, { healthCriterion: "Running" }), "Running");
  assert.equal(criterionFor(undefined, {}), "Available");
  for (const unknown of ["running", "", "constructor"])
    assert.equal(criterionFor(undefined, { healthCriterion: unknown }), "Available");
});
