import assert from "node:assert/strict";
import { test } from "node:test";
import { type FaultClass, faultClasses } from "../fault-classes.ts";
import { kindOf, shrink } from "./shrink.ts";
import { type RunOutcome, type RunTask, lostOutcome, planOf } from "../workers/task.ts";

const floor =
  "floor broken: 3 of 4 pods of web are left by the admission of 8f14e45f-ceea-467f-9c3b-0123456789ab (at 12.345 s)";

/** Fails whenever `isBad` holds for the plan; with other numbers each time, as real runs do. */
function pretend(isBad: (task: RunTask) => boolean): {
  run: (task: RunTask) => Promise<RunOutcome>;
  runs: () => number;
} {
  let runs = 0;
  return {
    runs: () => runs,
    run: async (task) => {
      runs += 1;
      const outcome = lostOutcome(task, floor.replace("3 of 4", `${runs} of ${runs + 1}`));
      return isBad(task) ? outcome : { ...outcome, finding: undefined };
    },
  };
}

test("shrinking leaves the faults and the size that the finding needs", async () => {
  const needed: readonly FaultClass[] = ["watch-lag", "crashes"];
  const { run } = pretend((task) => {
    const { faults, webhooks, cells, podsPerCell } = planOf(task);
    return needed.every((name) => faults.has(name)) && webhooks >= 2 && cells.length * podsPerCell >= 2;
  });
  const failing = await run({
    seed: 1,
    only: faultClasses,
    plan: { webhooks: 3, cells: ["a", "b", "c"], podsPerCell: 9 },
  });
  const said: string[] = [];
  const { smallest } = await shrink(failing, { run, say: (line) => said.push(line), triesMax: 500 });
  const plan = planOf(smallest.task);
  assert.deepEqual([...plan.faults].toSorted(), [...needed].toSorted());
  assert.equal(plan.webhooks, 2);
  assert.equal(plan.cells.length * plan.podsPerCell, 2);
  assert.ok(plan.minAvailable <= 2, "the floor follows the number of pods");
  assert.ok(plan.chaosMs < 2_000);
  assert.ok(said.length > 0);
});

test("a smaller world with another kind of finding does not count", async () => {
  const { run } = pretend(() => true);
  const failing = await run({ seed: 1 });
  const other = async (task: RunTask): Promise<RunOutcome> =>
    lostOutcome(task, "not settled 12 ms after the end of all faults");
  const { smallest } = await shrink(failing, { run: other, say: () => {}, triesMax: 100 });
  assert.equal(smallest, failing);
});

test("shrinking ends after the tries that it is given", async () => {
  const { run, runs } = pretend(() => true);
  const failing = await run({ seed: 1 });
  const { tries } = await shrink(failing, { run, say: () => {}, triesMax: 3 });
  assert.equal(tries, 3);
  assert.equal(runs(), 4);
});

test("two findings are of one kind when they differ in numbers, ids, cells and state", () => {
  const other =
    "floor broken: 11 of 12 pods of zone are left by the admission of 00000000-ceea-467f-9c3b-0123456789ab (at 1.5 s)";
  assert.equal(kindOf(floor), kindOf(other));
  assert.equal(
    kindOf('not settled 5 ms after: {"weight":1}\n  at x'),
    kindOf('not settled 77 ms after: {"weight":20}'),
  );
  assert.notEqual(kindOf("web: the counts of a go back"), kindOf("web: a pod has two buckets in a"));
  assert.equal(kindOf("web: b counts 3 pods, snapshot 7 holds 4"), kindOf("zone: a counts 2 pods, snapshot 1 holds 1"));
});
