/** Worlds whose core and workers come back from backups, again and again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runWorld } from "./run.ts";

const only = new Set(["restores"] as const);

test("after restores counts become true, quota comes back and deletions are admitted again", async () => {
  for (const seed of [15, 20, 39]) {
    const { failure, totals } = await runWorld({ seed, only });
    assert.equal(failure?.message, undefined, `seed ${seed}`);
    assert.ok((totals.faults.get("restores") ?? 0) > 0);
    assert.deepEqual(totals.breaches, []);
  }
});

test("what the restore of a worker takes away before a snapshot shows it is counted apart", async () => {
  let apart = 0;
  for (const seed of [61]) {
    const { failure, totals } = await runWorld({ seed, only });
    assert.equal(failure?.message, undefined);
    assert.deepEqual(totals.breaches, []);
    apart += totals.restoreBreaches.length;
  }
  assert.ok(apart > 0);
});
