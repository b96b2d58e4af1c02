import assert from "node:assert/strict";
import { test } from "node:test";
import { assertLiesAreLimited, assertWorldsHold, isBroken } from "./floor-run.ts";
import { type Faults } from "./floor-world.ts";

test("no sequence of reviews, lags, conflicts, restarts and lost answers breaks the floor or loses quota", () =>
  assertWorldsHold(1200));

test("in 1200 worlds a cell that lies costs the others no more pods than the workload says it can have", () =>
  assertLiesAreLimited(1200));

const brokenRules: Readonly<Record<string, Faults>> = {
  "barriers that pass at once": { barriersPassAtOnce: true },
  "a settle window of one second": { settleWindowMs: 1000 },
  "fences without a patch": { fencesWithoutPatch: true },
  "counts from older snapshots": { oldSnapshotsWrite: true },
  "no record without quota": { quotaOnlyIsRecorded: true },
  "free repeats": { repeatsAreFree: true },
  "evictions with a version": { evictionsHaveVersions: true },
  "evictions that name a version as DELETEs": { namedAreDeletes: true },
};
for (const [name, faults] of Object.entries(brokenRules)) {
  test(`the worlds notice a switched-off rule: ${name}`, () => {
    assert.ok(Array.from({ length: 600 }, (_, index) => index + 1).some((seed) => isBroken(seed, faults)));
  });
}
