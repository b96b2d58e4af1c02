import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodProtector, type Summary } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { shareOf, sumsOf } from "../../../../src/generator/metrics/monitor.ts";

function protector(minAvailable: number, summary?: Partial<Summary>): PodProtector {
  const counts = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0, ...summary };
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1" },
    spec: { minAvailable, minReadySeconds: 0, selector: {} },
    ...(summary === undefined ? {} : { status: { cells: [], summary: counts } }),
  };
}

test("the sums are those of all PodProtectors", () => {
  const sums = sumsOf([
    protector(4, {
      totalReplicas: 6,
      aggregatedAvailableReplicas: 5,
      estimatedAvailableReplicas: 3,
      aggregatedReady: 2,
    }),
    protector(0, { totalReplicas: 2, aggregatedAvailableReplicas: 2, estimatedAvailableReplicas: 2 }),
    protector(10, { aggregatedAvailableReplicas: 5, estimatedAvailableReplicas: 5, maxLatencyMillis: 700 }),
  ]);
  assert.deepEqual(
    { ...sums, byState: undefined },
    {
      workloads: 3,
      nonZeroWorkloads: 2,
      minAvailable: 14,
      estimatedAvailable: 10,
      latencyMillis: 700,
      outstanding: 2,
      byState: undefined,
    },
  );
  assert.deepEqual(sums.byState.available, { pods: 12, enough: 2, shares: 1.5 });
  assert.deepEqual(sums.byState.created, { pods: 8, enough: 2, shares: 1 });
  assert.deepEqual(sums.byState.ready, { pods: 2, enough: 1, shares: 0.5 });
});

test("more pods than must stay cover the floor of their own PodProtector alone", () => {
  const sums = sumsOf([protector(1, { aggregatedRunning: 50 }), protector(1, { aggregatedRunning: 0 })]);
  assert.deepEqual(sums.byState.running, { pods: 50, enough: 1, shares: 1 });
});

test("a PodProtector that nobody has counted has no pods", () => {
  const sums = sumsOf([protector(3)]);
  assert.equal(sums.outstanding, 0);
  assert.deepEqual(sums.byState.scheduled, { pods: 0, enough: 0, shares: 0 });
});

test("a share of nothing is whole, and never NaN", () => {
  assert.equal(shareOf(0, 0), 1);
  assert.equal(shareOf(5, 0), 1);
  assert.equal(shareOf(1, 4), 0.25);
});
