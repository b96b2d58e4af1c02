import assert from "node:assert/strict";
import { test } from "node:test";
import { type ProtectorID } from "../../../../../src/api/object-key.ts";
import { RefusedCallers } from "../../../../../src/webhook/decide/reports/refused-callers.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";

const web = { id: "core/ns/web" as ProtectorID, uid: "1" };

test("callers are counted by PodProtector, object and reason", () => {
  const callers = new RefusedCallers(createVirtualClock());
  callers.refused(web, "TooFewReplicas", "alice");
  const one = "Refused 1 deletion in 1 s (by alice 1)";
  assert.equal(callers.refused({ ...web, id: "core/ns/db" as ProtectorID }, "TooFewReplicas", "alice"), one);
  assert.equal(callers.refused({ ...web, uid: "2" }, "TooFewReplicas", "alice"), one);
  assert.equal(callers.refused(web, "CellSilent", "alice"), one);
  assert.equal(callers.refused(web, "TooFewReplicas", "bob"), "Refused 2 deletions in 1 s (by alice 1, bob 1)");
});

test("counts begin anew when the recorder begins another Event, which is after ten minutes", async () => {
  const clock = createVirtualClock();
  const callers = new RefusedCallers(clock);
  callers.refused(web, "TooFewReplicas", "alice");
  await clock.advance(600_000);
  assert.equal(callers.refused(web, "TooFewReplicas", "alice"), "Refused 2 deletions in 600 s (by alice 2)");
  await clock.advance(1);
  assert.equal(callers.refused(web, "TooFewReplicas", "alice"), "Refused 1 deletion in 1 s (by alice 1)");
});

test("of more PodProtectors than the recorder has Events for, those that were refused last are remembered", () => {
  const callers = new RefusedCallers(createVirtualClock());
  const refuse = (index: number): string =>
    callers.refused({ id: `core/ns/${index}` as ProtectorID, uid: "1" }, "TooFewReplicas", "alice");
  for (let index = 0; index <= 4_096; index += 1) refuse(index);
  assert.match(refuse(4_096), /^Refused 2 /);
  assert.match(refuse(0), /^Refused 1 /);
});
