import assert from "node:assert/strict";
import { test } from "node:test";
import { createProfiles } from "../../../src/roles/profiles.ts";
import { createServer } from "../../../src/server/index.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { loadGood } from "../config/load.ts";

/** Turns of the event loop until the profile has begun (1 timer) or ended (0). */
async function untilTimers(clock: VirtualClock, count: number): Promise<void> {
  while (clock.pendingTimers !== count) await drainMicrotasks();
}

function profilesOf(flags: readonly string[]) {
  const [clock, logger] = [createVirtualClock(), createRecordingLogger()];
  const { pprof } = loadGood(["--role=generator", "--pprof-bind-addr=127.0.0.1", "--pprof-port=0", ...flags]);
  const limits = { connectionsMax: 10, isReusable: false, graceMs: 0, clock, logger };
  const listen: Parameters<typeof createProfiles>[1]["createServer"] = (options) =>
    createServer({ ...options, ...limits });
  const component = createProfiles(pprof, { clock, createServer: listen });
  const ports = (): number[] =>
    logger.entries.filter(({ message }) => message === "Listening").map(({ fields }) => Number(fields["port"]));
  return { clock, component, ports };
}

test("profiles are off unless a flag asks for them", async () => {
  const { component, ports } = profilesOf([]);
  await component.start();
  assert.deepEqual(ports(), []);
  await component.stop();
});

test("with the flag of the original they are served, and a client that goes away ends its profile", async () => {
  const { clock, component, ports } = profilesOf(["--pprof-enable"]);
  await component.start();
  const url = `http://127.0.0.1:${ports()[0]}/debug/pprof`;
  const client = new AbortController();
  const gone = fetch(`${url}/profile?seconds=60`, { signal: client.signal });
  await untilTimers(clock, 1);
  assert.equal((await fetch(`${url}/profile?seconds=1`)).status, 429);
  client.abort();
  await assert.rejects(gone);
  await untilTimers(clock, 0);
  const heap = await fetch(`${url}/heap`);
  assert.equal(heap.status, 200);
  assert.ok("head" in ((await heap.json()) as object));
  await component.stop();
});
