import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { previousRelease } from "./processes/previous-release.ts";
import { assertSeedsHold, short } from "./seed-runs.ts";
import { RunPool } from "./workers/run-pool.ts";
import { runTask } from "./workers/task.ts";

const root = path.join(import.meta.dirname, "..", "..");

test("no rule breaks in the runs of 200 seeds, and deletions are admitted", (t) => assertSeedsHold(t, 200));

test("a seed has the same run twice, in a worker after others and here", async (t) => {
  const pool = new RunPool(1);
  t.after(() => pool.stop());
  await pool.run({ ...short, seed: 2 });
  const [first, second] = [await pool.run({ ...short, seed: 3 }), await runTask({ ...short, seed: 3 })];
  assert.equal(first.digest, second.digest);
  assert.notEqual(first.digest, (await runTask({ ...short, seed: 4 })).digest);
});

test("a seed has the same run in a checkout elsewhere", async (t) => {
  // A copy has no history: where its seeds upgrade, it finds the previous release among the modules that it shares.
  await previousRelease();
  const elsewhere = mkdtempSync(path.join(os.tmpdir(), "podseidon-elsewhere-"));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  for (const name of ["src", "test", "package.json"])
    cpSync(path.join(root, name), path.join(elsewhere, name), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(elsewhere, "node_modules"));
  const options = JSON.stringify({ ...short, seed: 3 });
  const program = `import { runWorld } from "./test/sim/run.ts"; console.log((await runWorld(${options})).digest);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: elsewhere,
    env: { ...process.env, TZ: "Asia/Kathmandu", LANG: "C" },
  });
  assert.equal(stdout.trim(), (await runTask({ ...short, seed: 3 })).digest);
});
