import assert from "node:assert/strict";
import { test } from "node:test";
import { LifePool } from "./life-pool.ts";
import { type LifeTask, type PlanSettings } from "./task.ts";

/** Worlds of that plan cannot even be made. */
const impossible = { seed: 1, plan: { cells: null } as unknown as PlanSettings };
const short: LifeTask = { seed: 1, only: [], plan: { chaosMs: 1_000, cells: ["a"] } };

test("a worker that dies costs its own life only, and says why", async (t) => {
  const pool = new LifePool(1);
  t.after(() => pool.stop());
  const [first, lost, last] = await Promise.all([pool.live(short), pool.live(impossible), pool.live(short)]);
  assert.equal(first.finding, undefined);
  assert.match(lost.finding ?? "", /^the worker crashed: TypeError/);
  assert.equal(last.digest, first.digest);
});

test("no more tasks are begun once an outcome is told to be the last", async (t) => {
  const pool = new LifePool(1);
  t.after(() => pool.stop());
  const lived: number[] = [];
  await pool.liveAll([{ ...short, seed: 5 }, { ...short, seed: 6 }, impossible], ({ task }) => {
    lived.push(task.seed);
    return lived.length < 2;
  });
  assert.deepEqual(lived, [5, 6]);
});
