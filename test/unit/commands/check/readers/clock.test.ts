import assert from "node:assert/strict";
import { test } from "node:test";
import { readClock } from "../../../../../src/commands/check/readers/clock.ts";
import { type EpochMicros } from "../../../../../src/util/clock.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signal = new AbortController().signal;

test("the server's time, in whole seconds, is compared with the middle of the request", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  const started = clock.epochMicros();
  client.onRequest = async ({ onServerTime }) => {
    await clock.advance(1_000);
    onServerTime?.((started + 60_000_000) as EpochMicros);
    return {};
  };
  const read = await readClock(client, { clock, signal });
  assert.deepEqual(read, { ok: true, value: { server: started + 60_500_000, own: started + 500_000 } });
});

test("an answer without a time tells nothing", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  client.onRequest = () => ({});
  assert.deepEqual(await readClock(client, { clock, signal }), { ok: false, why: "its answers have no time" });
  assert.equal(clock.pendingTimers, 0);
});
