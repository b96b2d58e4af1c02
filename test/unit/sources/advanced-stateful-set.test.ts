import assert from "node:assert/strict";
import { test } from "node:test";
import { advancedStatefulSets } from "../../../src/sources/advanced-stateful-set.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { statefulSets } from "../../../src/sources/stateful-set.ts";

const selector = { matchLabels: { app: "db" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };
const up: FloorRule = { ...rule, percentRounding: "up" };
const down: FloorRule = { ...rule, percentRounding: "down" };

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(spec: object, by = rule): string {
  const read = advancedStatefulSets.readSpec({ selector, ...spec });
  assert.ok(read !== undefined);
  const floor = read.floorBy(by);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}
const rolling = (rollingUpdate: object | null): object => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate },
});

test("replicas and selector are read, and minReadySeconds where this kind has it", () => {
  const spec = { replicas: 3, selector, template: {}, minReadySeconds: 9, ...rolling({ minReadySeconds: 5 }) };
  const { floorBy: _, ...facts } = advancedStatefulSets.readSpec(spec)!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector });
  assert.equal(advancedStatefulSets.readSpec({ selector })?.minReadySeconds, 0);
});

test("one pod may go at once by default, and else as many as maxUnavailable says, rounded down", () => {
  const cases: readonly (readonly [spec: object, expected: string, by?: FloorRule])[] = [
    [{ replicas: 3 }, "drainable 2/3"],
    [{ replicas: 3, ...rolling(null) }, "drainable 2/3"],
    [{ replicas: 10, ...rolling({ maxUnavailable: 3 }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: "35%" }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: "35%" }) }, "drainable 6/10", up],
    [{ replicas: 10, ...rolling({ maxUnavailable: "1%" }) }, "drainable 9/10", down],
    [{ replicas: 10, ...rolling({ maxUnavailable: 0 }) }, "drainable 9/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: 10 }) }, "unprotected MaxUnavailableCoversReplicas 0/10"],
    [{ replicas: 0 }, "drainable 0/0"],
    [{}, "unprotected SingleReplica 0/1"],
  ];
  for (const [spec, expected, by] of cases) assert.equal(stateOf(spec, by), expected, JSON.stringify(spec));
});

test("the floor is that of a built-in StatefulSet, for all small numbers of replicas", () => {
  for (let replicas = 0; replicas <= 30; replicas++) {
    for (const type of ["RollingUpdate", "OnDelete"]) {
      for (const maxUnavailable of [undefined, 0, 1, 2, "0%", "1%", "30%", "100%"]) {
        const spec = { replicas, selector, updateStrategy: { type, rollingUpdate: { maxUnavailable } } };
        for (const by of [rule, protects, up, down])
          assert.deepEqual(advancedStatefulSets.readSpec(spec)!.floorBy(by), statefulSets.readSpec(spec)!.floorBy(by));
      }
    }
  }
});

test("neither pause, partition, order, way of updating nor reserved ordinals change the floor", () => {
  for (const podManagementPolicy of ["OrderedReady", "Parallel"]) {
    for (const paused of [false, true]) {
      const more = { paused, partition: 3, podUpdatePolicy: "InPlaceOnly", unorderedUpdate: {} };
      const scale = { podManagementPolicy, reserveOrdinals: [0, 2, 7], scaleStrategy: { maxUnavailable: 4 } };
      assert.equal(stateOf({ replicas: 5, ...scale, ...rolling(more) }), "drainable 4/5");
      assert.equal(stateOf({ replicas: 5, ...scale, ...rolling({ ...more, maxUnavailable: 2 }) }), "drainable 3/5");
    }
  }
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  const broken = [null, "x", {}, { selector: {} }, { selector: 5 }, { selector, replicas: "3" }];
  for (const raw of [...broken, { selector, updateStrategy: 5 }])
    assert.equal(advancedStatefulSets.readSpec(raw), undefined, JSON.stringify(raw));
});
