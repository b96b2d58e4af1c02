import assert from "node:assert/strict";
import { test } from "node:test";
import {
  coreUnavailable,
  notInTime,
  queueFull,
  vanished,
} from "../../../../../src/webhook/decide/refusals/record-refusal.ts";

const id = "core/ns/web";

test("refusals for want of a record name the PodProtector and their cause, and have no numbers", () => {
  for (const [refusal, reason, pattern] of [
    [vanished(id), "ProtectorVanished", /was not found when recording .* If it was deleted on purpose, try again/],
    [coreUnavailable(id, "500"), "CoreUnavailable", /does not accept writes \(500\).* try again when the core cluster/],
    [
      notInTime(id, "500"),
      "DeadlineExceeded",
      /in time: its core cluster does not accept writes \(500\)\. Nothing was/,
    ],
    [notInTime(id, undefined), "DeadlineExceeded", /in time: too many deletions compete for it\. Nothing was deleted/],
    [queueFull(id), "Overloaded", /has too many deletions waiting .* Try again in a few seconds$/],
  ] as const) {
    assert.deepEqual([refusal.status, refusal.code, refusal.causes[0]?.reason], [reason, 429, reason]);
    assert.equal(refusal.causes[0]?.field, id);
    assert.equal(refusal.audit["reject-by-podprotector"], id);
    assert.ok(refusal.message.startsWith(`PodProtector ${id} `), refusal.message);
    assert.match(refusal.message, pattern);
    assert.equal(refusal.figures, undefined);
  }
});
