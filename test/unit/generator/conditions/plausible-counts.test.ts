import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type PodProtector, type PodProtectorSpec } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { implausibleCounts } from "../../../../src/generator/conditions/plausible-counts.ts";
import { lastFloorBefore } from "../../../../src/generator/mass-changes/floor-before.ts";
import { podDisruptionBudgets } from "../../../../src/sources/budgets/pod-disruption-budget.ts";
import { deployments } from "../../../../src/sources/deployment.ts";
import { followedProtectors } from "../../../../src/sources/followed-protector.ts";
import { ScaledKind } from "../../../../src/sources/scaled-kind.ts";
import { type SourceKind } from "../../../../src/sources/source.ts";
import { counts } from "../../accounting/samples.ts";
import { protector } from "../mass-changes/samples.ts";

interface Given {
  readonly replicas: number;
  readonly floor: number;
  /** What each cell says that it has. */
  readonly said: readonly number[];
  readonly kind?: SourceKind;
  readonly spec?: Partial<PodProtectorSpec>;
  readonly floorBefore?: string;
}

/** The message, or "". */
function told({ replicas, floor, said, kind = deployments, spec, floorBefore }: Given): string {
  const plain = protector(floor, floorBefore === undefined ? {} : { [annotations.floorBefore]: floorBefore });
  const cells = said.map((pods, index) => ({ cellID: `w${index + 1}`, aggregation: counts(pods) }));
  const object: PodProtector = {
    ...plain,
    spec: { ...plain.spec, ...spec },
    status: { cells, summary: summarize(cells, plain.spec) },
  };
  const found = implausibleCounts({ kind, spec: { replicas } }, object, lastFloorBefore(object));
  return found === false ? "" : found.message;
}

const ten = <T>(value: T): readonly T[] => Array.from({ length: 10 }, () => value);
const byScale = new ScaledKind("databases.example.com", {
  memory: { read: () => Promise.reject(new Error("not read")), forget: () => undefined } as never,
  heldFloorOf: () => undefined,
});

test("a million pods of one cell where five are asked for are implausible, and the cell is named", () => {
  const message = told({ replicas: 5, floor: 3, said: [5, 1_000_000] });
  assert.match(message, /Far more pods are counted than Deployment asks for, in cell "w2": what is free is not to be/);
});

test("many cells that each say far too much are named up to five, at any numbers in the same words", () => {
  const message = told({ replicas: 5, floor: 3, said: ten(900) });
  assert.match(message, /in cells "w1", "w2", "w3", "w4", "w5" and 5 more: /);
  assert.equal(told({ replicas: 6, floor: 4, said: ten(901) }), message);
});

test("a federation that runs all replicas in each of ten members is plausible", () => {
  assert.equal(told({ replicas: 10, floor: 8, said: ten(10) }), "");
  assert.equal(told({ replicas: 1_000, floor: 750, said: ten(1_000) }), "");
});

test("autoscalers of members above the number of the root are plausible", () => {
  assert.equal(told({ replicas: 2, floor: 1, said: ten(100) }), "");
  assert.equal(told({ replicas: 30, floor: 22, said: [300, 40, 310] }), "");
});

test("a scale-down whose pods wait for an hour is plausible, whatever the clock says", () => {
  assert.equal(told({ replicas: 10, floor: 8, said: [100] }), "");
  assert.equal(told({ replicas: 1, floor: 1, said: [2_000], floorBefore: "1500@2020-01-01T00:00:00Z" }), "");
  // Held: the floor is still the former one.
  assert.equal(told({ replicas: 1, floor: 1_500, said: [2_000] }), "");
  // To none: there is no floor, and nothing hangs on the numbers.
  assert.equal(told({ replicas: 0, floor: 0, said: [2_000] }), "");
});

test("a rollout with maxSurge 100 % is plausible, also where the workload says how many a cell can have", () => {
  assert.equal(told({ replicas: 50, floor: 38, said: [100] }), "");
  assert.equal(told({ replicas: 500, floor: 375, said: [1_000], spec: { maxPodsPerCell: 500 } }), "");
});

test("who says how many pods a cell can have, and means many, hears nothing of them", () => {
  assert.notEqual(told({ replicas: 2, floor: 1, said: [800] }), "");
  assert.equal(told({ replicas: 2, floor: 1, said: [800], spec: { maxPodsPerCell: 500 } }), "");
});

test("where replicas are no pods for certain nothing is said, unless it is known how many a cell can have", () => {
  for (const kind of [byScale, podDisruptionBudgets, followedProtectors]) {
    assert.equal(told({ kind, replicas: 5, floor: 3, said: [1_000_000] }), "");
    assert.notEqual(told({ kind, replicas: 5, floor: 3, said: [1_000_000], spec: { maxPodsPerCell: 50 } }), "");
  }
});

test("what is compared is the count of the PodProtector's own criterion", () => {
  const cells = [
    { cellID: "w1", aggregation: { totalReplicas: 1_000_000, availableReplicas: 3, readyReplicas: 9_999 } },
  ];
  const plain = protector(3);
  const status = { cells, summary: summarize(cells, plain.spec) };
  const of = (healthCriterion: string): unknown =>
    implausibleCounts(
      { kind: deployments, spec: { replicas: 5 } },
      { ...plain, spec: { ...plain.spec, healthCriterion }, status },
      undefined,
    );
  assert.equal(of("Available"), false);
  assert.notEqual(of("Ready"), false);
});
