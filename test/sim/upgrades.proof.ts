/** Worlds whose processes are replaced one by one, by this release or by the one before it. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { builtInResources } from "../double/index.ts";
import { describeFailure } from "./hunt/hunt.ts";
import { mutations } from "./mutations/catalog/catalog.ts";
import { tryMutation } from "./mutations/check.ts";
import { type Upgrade } from "./plan.ts";
import { previousRelease } from "./processes/previous-release.ts";
import { runWorld } from "./run.ts";
import { short } from "./seed-runs.ts";
import { RunPool } from "./workers/run-pool.ts";

const previous = await previousRelease();
const skip = previous.isThere ? false : `NO UPGRADE IS TESTED: ${previous.why}`;
if (!previous.isThere) console.error(skip);

/** No rule breaks in the runs of the seeds, whatever else they draw. */
async function assertUpgradesHold(t: TestContext, upgrade: Upgrade, seeds: readonly number[]): Promise<void> {
  const pool = new RunPool();
  t.after(() => pool.stop());
  let admitted = 0;
  let replaced = 0;
  const found: string[] = [];
  const tasks = seeds.map((seed) => ({ seed, plan: { ...short.plan, upgrade } }));
  await pool.runAll(tasks, (outcome) => {
    admitted += outcome.admitted;
    replaced += outcome.strikes.get("upgraded processes") ?? 0;
    if (outcome.finding !== undefined) found.push(describeFailure(outcome));
    return found.length < 3;
  });
  assert.equal(found.join("\n"), "");
  assert.ok(admitted > 3 * seeds.length, `only ${admitted} admissions: the worlds show little`);
  assert.ok(replaced >= 2 * seeds.length, `only ${replaced} processes were replaced`);
}

test("no rule breaks while one process after the other is replaced by this release", { skip }, (t) =>
  assertUpgradesHold(t, "forward", [1, 2, 3, 4]),
);

test("no rule breaks while one process after the other goes back to the release before", { skip }, (t) =>
  assertUpgradesHold(t, "back", [1, 2]),
);

/** Whether the Leases of heartbeats, which only this release writes, are there before the first replacement. */
async function beatsBeforeTheUpgrade(upgrade: Upgrade): Promise<boolean> {
  let isUpgraded = false;
  let hasBeaten = false;
  const { failure, totals } = await runWorld({
    seed: 1,
    only: new Set(),
    plan: { ...short.plan, upgrade, forbidsHeartbeats: false },
    onWorld: (world) => {
      world.core.server.engine.onChange(builtInResources.leases, ({ object }) => {
        isUpgraded ||= world.totals.faults.has("upgraded processes");
        if (!isUpgraded && object.metadata.name.startsWith("cell-")) hasBeaten = true;
      });
    },
  });
  assert.equal(failure, undefined);
  assert.ok((totals.faults.get("upgraded processes") ?? 0) > 0);
  return hasBeaten;
}

test("a world that is upgraded begins with the release before, which writes no heartbeats", { skip }, async () => {
  assert.equal(await beatsBeforeTheUpgrade("forward"), false);
  assert.equal(await beatsBeforeTheUpgrade("back"), true);
});

test("a release that does not understand the counts of the one before is caught", { skip }, async () => {
  const mutation = mutations.find(({ name }) => name === "counts-of-the-previous-release-are-unknown");
  assert.ok(mutation);
  const bounds = { firstSeed: 1, lastSeed: 5, limitMs: 600_000 };
  const { caught } = await tryMutation(mutation, { ...bounds, code: "mutated" });
  assert.equal(caught?.how, "checker");
});
