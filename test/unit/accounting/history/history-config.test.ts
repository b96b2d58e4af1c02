import assert from "node:assert/strict";
import { test } from "node:test";
import { historyConfigOf } from "../../../../src/accounting/history/history-config.ts";

const defaults = { maxConcurrentLag: 5, compactThreshold: 100, aggregationRateMs: 1000 };

test("what the object does not set is the flags'", () => {
  assert.deepEqual(historyConfigOf(undefined, defaults), defaults);
  assert.deepEqual(historyConfigOf({ compactThreshold: 7 }, defaults), { ...defaults, compactThreshold: 7 });
  const own = { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMillis: 0 };
  assert.deepEqual(historyConfigOf(own, defaults), { maxConcurrentLag: 0, compactThreshold: 1, aggregationRateMs: 0 });
});

test("senseless values take the nearest that makes sense", () => {
  const senseless = { maxConcurrentLag: -1, compactThreshold: 0, aggregationRateMillis: -5 };
  assert.deepEqual(historyConfigOf(senseless, defaults), {
    maxConcurrentLag: 0,
    compactThreshold: 1,
    aggregationRateMs: 0,
  });
  assert.equal(historyConfigOf(undefined, { ...defaults, compactThreshold: -4 }).compactThreshold, 1);
});
