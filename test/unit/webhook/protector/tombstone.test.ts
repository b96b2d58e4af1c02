import assert from "node:assert/strict";
import { test } from "node:test";
import { aggregatorFlags } from "../../../../src/config/flags/aggregator.ts";
import { remadeSettleMs } from "../../../../src/webhook/protector/tombstone.ts";

test("what is made again waits as long as an aggregator waits by default", () => {
  assert.equal(remadeSettleMs, aggregatorFlags["aggregator-settle-window"].default);
});
