import assert from "node:assert/strict";
import { test } from "node:test";
import { findingsOf, measure, weathers } from "./report.ts";
import { RunPool } from "../workers/run-pool.ts";

/** Many deletions near the floor, so that an admission that is forgotten shows. */
const busy = {
  cells: ["a"],
  podsPerCell: 10,
  minAvailable: 5,
  minReadySeconds: 0,
  deletionsPerSecond: 5,
  chaosMs: 90_000,
};

// Otherwise the simulator would be too kind.
test("under watch lag the clock algorithm breaks floors where the default breaks none", async (t) => {
  const pool = new RunPool();
  t.after(() => pool.stop());
  const lagging = weathers.filter(({ name }) => name === "watch-lag");
  const asked = { firstSeed: 1, seeds: 6, algorithms: ["observed", "clock"] as const, weathers: lagging, plan: busy };
  const cells = await measure(pool, asked);
  assert.deepEqual(findingsOf(cells, "observed"), []);
  const [observed, clock] = cells;
  assert.equal(observed?.broken, 0);
  assert.ok((observed?.admitted ?? 0) > 100, "the default admits deletions, too");
  assert.ok((clock?.broken ?? 0) > 0, "the clock algorithm is broken by watch lag");
});
