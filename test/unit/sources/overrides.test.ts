import assert from "node:assert/strict";
import { test } from "node:test";
import { deployments } from "../../../src/sources/deployment.ts";
import { type FloorRule } from "../../../src/sources/floor.ts";
import { isSameProtection, overridden, readOverrides } from "../../../src/sources/overrides.ts";

const prefix = "podseidon.kubewharf.io/";
const rule: FloorRule = { percentRounding: "at-least-one", singleReplica: "drainable" };

const read = (values: Readonly<Record<string, unknown>>) =>
  readOverrides(Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value])));

function floor(values: Readonly<Record<string, string>>, replicas: number, by: Partial<FloorRule> = {}) {
  const spec = deployments.readSpec({ replicas, selector: {}, strategy: { type: "Recreate" } });
  assert.ok(spec !== undefined);
  const { minAvailable, kind } = overridden(spec, read(values)).floorBy({ ...rule, ...by });
  return `${minAvailable} ${kind}`;
}

test("min-available is a number or a percentage that rounds up, and never above the replicas", () => {
  const at = (value: string, replicas: number) => floor({ "min-available": value }, replicas);
  assert.deepEqual([at("3", 10), at("80%", 10), at("50%", 7)], ["3 drainable", "8 drainable", "4 drainable"]);
  assert.deepEqual([at("12", 10), at("100%", 10), at("1%", 1)], ["10 undrainable", "10 undrainable", "1 undrainable"]);
  assert.deepEqual([at("0", 10), at("0%", 10), at("5", 0)], ["0 unprotected", "0 unprotected", "0 drainable"]);
});

test("max-unavailable is a number at its word, or a percentage by the rule of all others", () => {
  const at = (value: string, replicas: number, by?: Partial<FloorRule>) =>
    floor({ "max-unavailable": value }, replicas, by);
  assert.deepEqual([at("3", 10), at("0", 10), at("10", 10)], ["7 drainable", "10 undrainable", "0 unprotected"]);
  assert.deepEqual([at("25%", 3), at("25%", 3, { percentRounding: "down" })], ["2 drainable", "3 undrainable"]);
  assert.deepEqual([at("25%", 1), at("25%", 1, { singleReplica: "protected" })], ["0 unprotected", "1 undrainable"]);
});

test("minReadySeconds is overridden alone, and without overrides the spec is the very same", () => {
  const spec = deployments.readSpec({ replicas: 10, minReadySeconds: 3, selector: {} })!;
  const other = overridden(spec, read({ "min-ready-seconds": "30" }));
  assert.deepEqual([other.minReadySeconds, other.floorBy(rule)], [30, spec.floorBy(rule)]);
  assert.equal(overridden(spec, read({})), spec);
});

test("all that can be overridden is read", () => {
  const values = { "max-concurrent-lag": "0", "compact-threshold": "1", "aggregation-rate-millis": "2147483647" };
  const found = read({
    ...values,
    "health-criterion": "Initialized",
    protect: "false",
    "min-available": "5",
    keep: "3",
    "max-pods-per-cell": "50",
    "foreign-owners": "Workflow.argoproj.io, Node,Node",
  });
  assert.deepEqual(found, {
    isOptedOut: true,
    floor: { name: `${prefix}min-available`, value: 5 },
    keep: 3,
    minReadySeconds: undefined,
    healthCriterion: "Initialized",
    maxPodsPerCell: 50,
    historyConfig: { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMillis: 2_147_483_647 },
    foreignOwners: ["Workflow.argoproj.io", "Node"],
    problems: [],
  });
});

const kindsAllowed =
  "up to 29 kinds with their groups, such as Job.batch,Workflow.argoproj.io, and none that runs replicas " +
  "(CloneSet.apps.kruise.io, ReplicaSet.apps, ReplicationController, StatefulSet.apps, StatefulSet.apps.kruise.io)";

test("what cannot be read is as if it were absent, and says what is allowed", () => {
  const none = readOverrides(undefined);
  for (const [name, value, allowed] of [
    ["min-available", "101%", "a whole number from 0 to 2147483647, or a percentage from 0% to 100%"],
    ["max-unavailable", "-1", "a whole number from 0 to 2147483647, or a percentage from 0% to 100%"],
    ["min-ready-seconds", "2147483648", "a whole number from 0 to 2147483647"],
    ["compact-threshold", "0", "a whole number from 1 to 2147483647"],
    ["max-pods-per-cell", "0", "a whole number from 1 to 2147483647"],
    ["health-criterion", "ready", "one of Scheduled, Initialized, Running, Ready, Available"],
    ["protect", "no", "true or false"],
    ["foreign-owners", "batch/Job", kindsAllowed],
    ["foreign-owners", "Job.batch,ReplicaSet.apps", kindsAllowed],
  ] as const) {
    const { problems, ...found } = read({ [name]: value });
    assert.deepEqual({ ...found, problems: [] }, none);
    assert.deepEqual(problems, [`Ignoring the annotation ${prefix}${name}="${value}": it must be ${allowed}`]);
  }
  const { floor: both, problems } = read({ "min-available": "0", "max-unavailable": "1" });
  assert.equal(both, undefined);
  assert.match(problems.join(), /min-available and .*max-unavailable: only one of them may be there$/);
});

test("keep is true, or a number from 1, and anything else takes nothing away and says what is allowed", () => {
  assert.deepEqual([read({}).keep, read({ keep: "true" }).keep, read({ keep: "1" }).keep], [undefined, true, 1]);
  for (const value of ["0", "-1", "five", " 5", "5 ", "2147483648", "5.5", "True", "false", "50%", ""]) {
    const { keep, problems } = read({ keep: value });
    assert.equal(keep, "unreadable");
    const allowed = "true, or a whole number from 1 to 2147483647";
    assert.deepEqual(problems, [`Ignoring the annotation ${prefix}keep="${value}": it must be ${allowed}`]);
  }
});

test("a mistyped name is said with the one that was meant, and names of others are left alone", () => {
  assert.match(read({ "min-avialable": "5" }).problems.join(), /min-avialable: .*; did you mean .*\/min-available\?$/);
  assert.match(read({ qqqq: "5" }).problems.join(), /a workload has none of that name$/);
  const elsewhere = { "podseidon.example.com/min-available": "5", "podseidon.example.com/team": "a", "a/b": "c" };
  assert.equal(readOverrides(elsewhere).problems.length, 1);
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`x${index}`, "1"]));
  assert.equal(read(many).problems.at(-1), "And 4 more");
});

test("nothing makes it throw", () => {
  for (const odd of [null, 5, [], { [`${prefix}min-available`]: 5 }, { [`${prefix}${"x".repeat(999)}`]: "1" }])
    assert.equal(readOverrides(odd).floor, undefined);
});

test("two ways to say something else about protection differ, and other overrides do not matter", () => {
  const one = read({ "min-available": "5", "min-ready-seconds": "1" });
  assert.ok(isSameProtection(one, read({ "min-available": "5" })));
  assert.ok(!isSameProtection(one, read({ "min-available": "5", protect: "false" })));
  assert.ok(!isSameProtection(one, read({ "max-unavailable": "5" })));
  assert.ok(!isSameProtection(one, read({ "min-available": "6" })));
});
