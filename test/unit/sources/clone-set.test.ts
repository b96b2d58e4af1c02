import assert from "node:assert/strict";
import { test } from "node:test";
import { cloneSets } from "../../../src/sources/clone-set.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";

const selector = { matchLabels: { app: "web" } };
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };
const protects: FloorRule = { ...rule, singleReplica: "protected" };
const down: FloorRule = { ...rule, percentRounding: "down" };

/** "undrainable SingleReplica 1/1": kind, reason and floor of the replicas. */
function stateOf(spec: object, by = rule): string {
  const read = cloneSets.readSpec({ selector, ...spec });
  assert.ok(read !== undefined);
  const floor = read.floorBy(by);
  const reason = floor.kind === "drainable" ? "" : `${floor.reason} `;
  return `${floor.kind} ${reason}${floor.minAvailable}/${floor.replicas}`;
}
const updating = (replicas: number, updateStrategy: object): object => ({ replicas, updateStrategy });

test("replicas, minReadySeconds and selector are read, the pod template is not", () => {
  const read = cloneSets.readSpec({ replicas: 3, minReadySeconds: 5, selector, template: {}, updateStrategy: {} });
  const { floorBy: _, ...facts } = read!;
  assert.deepEqual(facts, { replicas: 3, minReadySeconds: 5, selector });
});

test("without surge pods an update takes its percentage rounded up, by default 20 %", () => {
  const cases: readonly (readonly [spec: object, expected: string, by?: FloorRule])[] = [
    [{ replicas: 10 }, "drainable 8/10"],
    [{ replicas: 11 }, "drainable 8/11"],
    [{ replicas: 11 }, "drainable 8/11", down],
    [{ replicas: 3 }, "drainable 2/3"],
    [updating(10, { maxUnavailable: "31%" }), "drainable 6/10"],
    [updating(10, { maxUnavailable: "31%", maxSurge: "0%" }), "drainable 6/10"],
    [updating(10, { maxUnavailable: 4 }), "drainable 6/10"],
    [updating(10, { maxUnavailable: "100%" }), "unprotected MaxUnavailableCoversReplicas 0/10"],
    [{ replicas: 0 }, "drainable 0/0"],
    [{ replicas: -1 }, "drainable 0/0"],
  ];
  for (const [spec, expected, by] of cases) assert.equal(stateOf(spec, by), expected, JSON.stringify(spec));
});

test("with surge pods an update takes its percentage rounded down, and a drain still at least one pod", () => {
  const cases: readonly (readonly [spec: object, expected: string, by?: FloorRule])[] = [
    [updating(11, { maxSurge: 1 }), "drainable 9/11"],
    [updating(11, { maxSurge: "1%" }), "drainable 9/11"],
    [updating(10, { maxUnavailable: "31%", maxSurge: 1 }), "drainable 7/10"],
    [updating(3, { maxSurge: 1 }), "drainable 2/3"],
    [updating(3, { maxSurge: 1 }), "undrainable RoundedDownToZero 3/3", down],
  ];
  for (const [spec, expected, by] of cases) assert.equal(stateOf(spec, by), expected, JSON.stringify(spec));
});

test("neither pause, partition, way of updating nor the strategy of scaling changes the floor", () => {
  for (const type of ["ReCreate", "InPlaceIfPossible", "InPlaceOnly"]) {
    for (const partition of [0, 5, "50%"]) {
      for (const paused of [false, true]) {
        const scaleStrategy = { podsToDelete: ["web-a", "web-b"], maxUnavailable: 9 };
        const strategy = { type, partition, paused, maxUnavailable: "31%", maxSurge: 1 };
        assert.equal(stateOf({ ...updating(10, strategy), scaleStrategy }), "drainable 7/10");
      }
    }
  }
});

test("a maxUnavailable of 0 is taken at its word", () => {
  assert.equal(stateOf(updating(5, { maxUnavailable: 0, maxSurge: 1 })), "undrainable MaxUnavailableZero 5/5");
  assert.equal(stateOf(updating(5, { maxUnavailable: "0%" })), "undrainable MaxUnavailableZero 5/5");
});

test("the only replica can be protected where an update has a surge pod, else the update takes it", () => {
  assert.equal(stateOf({}), "unprotected SingleReplica 0/1");
  assert.equal(stateOf({}, protects), "unprotected SingleReplica 0/1");
  assert.equal(stateOf(updating(1, { maxSurge: 1 })), "unprotected SingleReplica 0/1");
  assert.equal(stateOf(updating(1, { maxSurge: 1 }), protects), "undrainable SingleReplica 1/1");
});

test("what is not a usable spec is nothing, and nothing makes it throw", () => {
  const broken = [null, "x", {}, { selector: {} }, { selector: { matchLabels: {} } }, { selector, replicas: "3" }];
  for (const raw of [...broken, { selector, updateStrategy: 5 }])
    assert.equal(cloneSets.readSpec(raw), undefined, JSON.stringify(raw));
});
