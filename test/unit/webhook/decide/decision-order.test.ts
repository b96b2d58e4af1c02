import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { webhookPage, withDecisionOrder } from "../../../../scripts/decision-order.ts";

test("docs/webhook.md has the order of decisions; if not: node scripts/n.mjs scripts/decision-order.ts", () => {
  const page = readFileSync(webhookPage, "utf8");
  assert.equal(page, withDecisionOrder(page));
});
