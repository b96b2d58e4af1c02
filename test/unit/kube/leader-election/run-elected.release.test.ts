import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { candidate, createLeaseServer } from "./lease-rig.ts";

test("a Lease is released at a graceful stop even if the answer to its last renewal was lost", async () => {
  const clock = createVirtualClock();
  const server = createLeaseServer(clock);
  const a = candidate(server, clock, "a");
  await clock.advance(3_000);
  a.net.loseAnswers = true;
  await clock.advance(1_500);
  a.net.loseAnswers = false;
  assert.equal(server.lease?.spec["renewTime"], "2026-01-01T00:00:04.000000Z");
  a.stop.abort();
  await clock.advance(0);
  await a.running;
  assert.equal(server.lease?.spec["holderIdentity"], "");
  assert.equal(clock.pendingTimers, 0);
});

test("a Lease that another process took before a graceful stop was complete is not released", async () => {
  const clock = createVirtualClock();
  const server = createLeaseServer(clock);
  const a = candidate(server, clock, "a");
  await clock.advance(3_000);
  server.put({ ...server.lease!, spec: { ...server.lease!.spec, holderIdentity: "thief" } });
  a.stop.abort();
  await clock.advance(0);
  await a.running;
  assert.equal(server.lease?.spec["holderIdentity"], "thief");
});
