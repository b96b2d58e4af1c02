import assert from "node:assert/strict";
import { test } from "node:test";
import { Outage } from "../../../src/util/outage.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";

test("an outage is told when it begins and when it fails in another way, and has a length when it ends", async () => {
  const clock = createVirtualClock();
  const outage = new Outage(clock);
  assert.equal(outage.ended(), undefined);
  const told: boolean[] = [];
  for (const how of ["network", "network", "timeout", "network", "timeout"]) {
    told.push(outage.failed(how));
    await clock.advance(1_230);
  }
  assert.deepEqual(told, [true, false, true, false, false]);
  assert.deepEqual(outage.ended(), { lastedSeconds: 6.2 });
  assert.equal(outage.ended(), undefined);
});

test("an outage after another is told again, and its length begins anew", async () => {
  const clock = createVirtualClock();
  const outage = new Outage(clock);
  outage.failed("network");
  await clock.advance(60_000);
  outage.ended();
  await clock.advance(60_000);
  assert.equal(outage.failed("network"), true);
  await clock.advance(500);
  assert.deepEqual(outage.ended(), { lastedSeconds: 0.5 });
});
