import assert from "node:assert/strict";
import { test } from "node:test";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { statefulSets } from "../../../src/sources/stateful-set.ts";

const selector = { matchLabels: { app: "db" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };
const up: FloorRule = { ...rule, percentRounding: "up" };
const down: FloorRule = { ...rule, percentRounding: "down" };

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(spec: object, by = rule): string {
  const read = statefulSets.readSpec({ selector, ...spec });
  assert.ok(read !== undefined);
  const floor = read.floorBy(by);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}
const rolling = (rollingUpdate: object | null): object => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate },
});
const onDelete = { updateStrategy: { type: "OnDelete" } };

test("replicas, minReadySeconds and selector are read, the pod template is not", () => {
  const read = statefulSets.readSpec({ replicas: 3, minReadySeconds: 5, selector, template: {}, serviceName: "db" });
  const { floorBy: _, ...facts } = read!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector });
});

test("one pod may go at once by default, and else as many as maxUnavailable says", () => {
  const cases: readonly (readonly [spec: object, expected: string, by?: FloorRule])[] = [
    [{ replicas: 3 }, "drainable 2/3"],
    [{ replicas: 3, ...rolling(null) }, "drainable 2/3"],
    [{ replicas: 100, ...rolling({ partition: 0 }) }, "drainable 99/100"],
    [{ replicas: 10, ...rolling({ maxUnavailable: 3 }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: "35%" }) }, "drainable 7/10"],
    [{ replicas: 10, ...rolling({ maxUnavailable: "35%" }) }, "drainable 6/10", up],
    [{ replicas: 10, ...rolling({ maxUnavailable: 10 }) }, "unprotected MaxUnavailableCoversReplicas 0/10"],
    [{ replicas: 0 }, "drainable 0/0"],
  ];
  for (const [spec, expected, by] of cases) assert.equal(stateOf(spec, by), expected, JSON.stringify(spec));
});

test("the floor is never above what a rolling update leaves, which takes at least one pod", () => {
  for (const by of [rule, up, down, protects]) {
    for (const maxUnavailable of ["1%", "0%", 0, "nonsense", undefined]) {
      assert.equal(stateOf({ replicas: 3, ...rolling({ maxUnavailable }) }, by), "drainable 2/3");
      assert.match(stateOf({ replicas: 1, ...rolling({ maxUnavailable }) }, by), /^unprotected \w+ 0\/1$/);
    }
  }
});

test("neither partition nor the order of pods changes the floor", () => {
  for (const podManagementPolicy of ["OrderedReady", "Parallel"]) {
    for (const partition of [0, 2, 5, 99]) {
      const spec = { replicas: 5, podManagementPolicy, ...rolling({ partition }) };
      assert.equal(stateOf(spec), "drainable 4/5", JSON.stringify(spec));
      const two = { ...spec, ...rolling({ partition, maxUnavailable: 2 }) };
      assert.equal(stateOf(two), "drainable 3/5", JSON.stringify(two));
    }
  }
});

test("with OnDelete only people take pods, one at a time, and the flag protects the only replica", () => {
  assert.equal(stateOf({ replicas: 5, ...onDelete }), "drainable 4/5");
  assert.equal(stateOf({ replicas: 5, ...onDelete }, protects), "drainable 4/5");
  assert.equal(stateOf({ replicas: 1, ...onDelete }), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({ replicas: 1, ...onDelete }, protects), "undrainable SingleReplica 1/1");
});

test("the only replica of a rolling update is unprotected, by whose word is told", () => {
  assert.equal(stateOf({}), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({ ...rolling({ maxUnavailable: "50%" }) }), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({ ...rolling({ maxUnavailable: 1 }) }), "unprotected MaxUnavailableCoversReplicas 0/1");
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  for (const raw of [null, "x", {}, { selector: 5 }, { selector, replicas: "3" }, { selector, updateStrategy: 5 }])
    assert.equal(statefulSets.readSpec(raw), undefined, JSON.stringify(raw));
});
