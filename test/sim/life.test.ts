/** The lives that `make test` lives: few of the many of `make sim`, always the same. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { describeFailure } from "./hunt.ts";
import { LifePool } from "./workers/life-pool.ts";
import { type LifeTask, liveTask } from "./workers/task.ts";

const root = path.join(import.meta.dirname, "..", "..");
const seeds = 200;
/**
 * Shorter than most seeds draw, so that all lives take well under a minute on two cores. `make sim` lives them in full.
 */
const chaosMs = 15_000;

const short = { plan: { chaosMs } };

function* tasks(): Generator<LifeTask> {
  for (let seed = 1; seed <= seeds; seed += 1) yield { ...short, seed };
}

test(`in the lives of ${seeds} seeds no rule breaks, and deletions are admitted`, async (t) => {
  const pool = new LifePool();
  t.after(() => pool.stop());
  const found: string[] = [];
  let admitted = 0;
  await pool.liveAll(tasks(), (outcome) => {
    admitted += outcome.admitted;
    if (outcome.finding !== undefined) found.push(describeFailure(outcome));
    return found.length < 3;
  });
  assert.equal(found.join("\n"), "");
  assert.ok(admitted > 3 * seeds, `only ${admitted} admissions: the worlds show little`);
});

test("a seed lives the same life twice, in a worker after others and here", async (t) => {
  const pool = new LifePool(1);
  t.after(() => pool.stop());
  await pool.live({ ...short, seed: 2 });
  const [first, second] = [await pool.live({ ...short, seed: 3 }), await liveTask({ ...short, seed: 3 })];
  assert.equal(first.digest, second.digest);
  assert.notEqual(first.digest, (await liveTask({ ...short, seed: 4 })).digest);
});

test("a seed lives the same life in a checkout elsewhere", async (t) => {
  const elsewhere = mkdtempSync(path.join(os.tmpdir(), "podseidon-elsewhere-"));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  for (const name of ["src", "test", "package.json"])
    cpSync(path.join(root, name), path.join(elsewhere, name), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(elsewhere, "node_modules"));
  const program = `import { live } from "./test/sim/life.ts"; console.log((await live({ seed: 3, plan: { chaosMs: ${chaosMs} } })).digest);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: elsewhere,
    env: { ...process.env, TZ: "Asia/Kathmandu", LANG: "C" },
  });
  assert.equal(stdout.trim(), (await liveTask({ ...short, seed: 3 })).digest);
});
