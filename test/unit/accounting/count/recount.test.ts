import assert from "node:assert/strict";
import test from "node:test";
import { isRecountedSince } from "../../../../src/accounting/count/recount.ts";
import { counts, timeText } from "../samples.ts";

test("a recount is told by a later mark than the known one, not by other counts", () => {
  const plain = counts(3);
  const first = counts(3, { recountedAt: timeText(10) });
  const second = counts(2, { recountedAt: timeText(20) });
  assert.equal(isRecountedSince(plain, counts(2)), false);
  assert.equal(isRecountedSince(undefined, plain), false);
  assert.equal(isRecountedSince(plain, first), true);
  assert.equal(isRecountedSince(first, first), false);
  assert.equal(isRecountedSince(first, second), true);
  assert.equal(isRecountedSince(second, first), false, "a backup brought back the state after an earlier recount");
  assert.equal(isRecountedSince(first, plain), false);
  assert.equal(isRecountedSince(first, undefined), false);
});
