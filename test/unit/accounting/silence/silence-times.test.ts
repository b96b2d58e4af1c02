import assert from "node:assert/strict";
import { test } from "node:test";
import { silenceTimes } from "../../../../src/accounting/silence/silence-times.ts";

test("all times of silent cells scale with --silent-cell-after", () => {
  const times = silenceTimes(180_000);
  assert.equal(times.beatMs, 10_000);
  assert.equal(times.observeMs, 15_000);
  assert.equal(times.contactMs, 45_000);
  assert.deepEqual(
    Object.values(silenceTimes(18_000)),
    Object.values(times).map((ms: number) => ms / 10),
  );
});

test("an observer that misses two LISTs has not been away", () => {
  const { observeMs, contactMs } = silenceTimes(180_000);
  assert.ok(3 * observeMs <= contactMs);
});
