/** The same short runs of many seeds: 4 in `make test` (run.test.ts), 200 in `make proofs` (run.proof.ts). */
import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import { describeFailure } from "./hunt/hunt.ts";
import { RunPool } from "./workers/run-pool.ts";
import { type RunTask } from "./workers/task.ts";

/** Shorter than most seeds draw, so that a run takes a third of a second. `make sim` runs the same seeds in full. */
export const short = { plan: { chaosMs: 15_000 } };

function* tasks(seeds: number): Generator<RunTask> {
  for (let seed = 1; seed <= seeds; seed += 1) yield { ...short, seed };
}

/** Runs the seeds from 1 to `seeds` on all cores: no rule breaks, and on average more than 3 deletions are admitted. */
export async function assertSeedsHold(t: TestContext, seeds: number): Promise<void> {
  const pool = new RunPool();
  t.after(() => pool.stop());
  const found: string[] = [];
  let admitted = 0;
  await pool.runAll(tasks(seeds), (outcome) => {
    admitted += outcome.admitted;
    if (outcome.finding !== undefined) found.push(describeFailure(outcome));
    return found.length < 3;
  });
  assert.equal(found.join("\n"), "");
  assert.ok(admitted > 3 * seeds, `only ${admitted} admissions: the worlds show little`);
}
