import assert from "node:assert/strict";
import { test } from "node:test";
import { readUntil } from "../../../../src/commands/steer/values.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

const now = (Date.UTC(2026, 0, 1) * 1000) as EpochMicros;
const day = { max: 86_400_000, maxText: "24h" };

test("--for is read as the time at which it ends, and is undefined when it is absent", () => {
  const until = (text: string) => readUntil(new Map([["for", [text]]]), now, day);
  assert.equal(until("1h30m"), "2026-01-01T01:30:00Z");
  assert.equal(until("24h"), "2026-01-02T00:00:00Z");
  assert.equal(readUntil(new Map(), now, day), undefined);
});

test("--for that is no duration, nothing, or too long is a problem that says what is allowed", () => {
  for (const text of ["", "2", "-1h", "0s", "1ms", "24h1s", "tomorrow"]) {
    const problem = readUntil(new Map([["for", [text]]]), now, day);
    assert(problem instanceof Problem, text);
    assert.match(problem.message, /^option --for: ".*" is .*; allowed: a duration such as 30m or 2h, .* up to 24h$/);
  }
});
