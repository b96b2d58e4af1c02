import assert from "node:assert/strict";
import { test } from "node:test";
import { rowState, urgencyOf } from "../../../../../src/commands/dashboard/model/row-state.ts";
import { states } from "../../../../../src/commands/fleet/standing.ts";

const held = {
  type: "ChangeHeld",
  status: "True",
  reason: "MassChange",
  message: "12 others fall at once",
  lastTransitionTime: "2026-01-01T00:00:00Z",
} as const;

test("every state but ok has a tone that is not good", () => {
  for (const name of states) assert.equal(rowState(name, undefined).tone === "good", name === "ok", name);
});

test("why comes from the caller, else from the condition, else from what the word means", () => {
  assert.equal(rowState("change held", [held], "told").why, "told");
  assert.equal(rowState("change held", [held]).why, "12 others fall at once");
  assert.equal(rowState("change held", [{ ...held, status: "False" }]).why, "");
  assert.match(rowState("shadow", []).why, /refuses nothing/);
});

test("the most urgent state is the one that webhooks cannot use", () => {
  assert.equal(urgencyOf("unusable"), 0);
  assert(urgencyOf("below floor") < urgencyOf("at floor"));
  assert(urgencyOf("ok") > urgencyOf("shadow"));
});
