import assert from "node:assert/strict";
import { test } from "node:test";
import { readApproval } from "../../../../src/generator/mass-changes/approval.ts";
import { after, noon } from "./samples.ts";

const text = (fields: object) =>
  JSON.stringify({ cause: "namespace/shop", until: "2026-01-01T13:00:00Z", reason: "planned", ...fields });

test("an approval has a cause, an end within a day, and a reason", () => {
  const approval = { cause: "namespace/shop", until: after(3_600), reason: "planned" };
  assert.deepEqual(readApproval(text({}), noon), { ok: true, approval });
});

test("what is no approval is refused, with what must stand there", () => {
  const wrong = [
    ["yes", /JSON object/],
    ["[]", /JSON object/],
    [text({ cause: "" }), /"cause"/],
    [text({ reason: " " }), /"reason"/],
    [text({ until: "tomorrow" }), /RFC 3339/],
    [text({ until: "2026-01-01T12:00:00Z" }), /future/],
    [text({ until: "2026-01-03T12:00:00Z" }), /24 hours/],
    [text({ reason: "x".repeat(2_000) }), /1024 characters/],
  ] as const;
  for (const [given, allowed] of wrong) {
    const read = readApproval(given, noon);
    assert.match(read.ok ? "" : read.allowed, allowed, given.slice(0, 80));
  }
});
