import assert from "node:assert/strict";
import { test } from "node:test";
import { allowed, refusedForNow } from "../../../../src/webhook/decide/decision.ts";

test("decisions to refuse for now are 429 TooManyRequests, which clients repeat", () => {
  const { code, reason, causes, audit } = refusedForNow("RetryAdvised", "words");
  assert.deepEqual({ code, reason, causes, audit }, { code: 429, reason: "TooManyRequests", causes: [], audit: {} });
});

test("decisions to allow carry no warning by themselves", () => {
  assert.deepEqual(allowed("Unmatched"), { kind: "allowed", status: "Unmatched", audit: {}, warnings: [] });
});
