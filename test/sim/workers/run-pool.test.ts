import assert from "node:assert/strict";
import { test } from "node:test";
import { RunPool } from "./run-pool.ts";
import { type RunTask, type PlanSettings } from "./task.ts";

/** Worlds of that plan cannot even be made. */
const impossible = { seed: 1, plan: { cells: null } as unknown as PlanSettings };
const short: RunTask = { seed: 1, only: [], plan: { chaosMs: 1_000, cells: ["a"] } };

test("a worker that dies costs its own run only, and says why", async (t) => {
  const pool = new RunPool(1);
  t.after(() => pool.stop());
  const [first, lost, last] = await Promise.all([pool.run(short), pool.run(impossible), pool.run(short)]);
  assert.equal(first.finding, undefined);
  assert.match(lost.finding ?? "", /^the worker crashed: TypeError/);
  assert.equal(last.digest, first.digest);
});

test("no more tasks are begun once an outcome is told to be the last", async (t) => {
  const pool = new RunPool(1);
  t.after(() => pool.stop());
  const done: number[] = [];
  await pool.runAll([{ ...short, seed: 5 }, { ...short, seed: 6 }, impossible], ({ task }) => {
    done.push(task.seed);
    return done.length < 2;
  });
  assert.deepEqual(done, [5, 6]);
});
