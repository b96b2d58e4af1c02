import assert from "node:assert/strict";
import { test } from "node:test";
import { readGreeting } from "../../../../../src/commands/check/readers/clock.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
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
  const { clock: read, answers } = await readGreeting(client, { clock, signal });
  assert.equal(answers.ok, true);
  assert.deepEqual(read, { ok: true, value: { server: started + 60_500_000, own: started + 500_000 } });
});

test("an answer without a time tells nothing", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  client.onRequest = () => ({});
  const { answers, clock: read } = await readGreeting(client, { clock, signal });
  assert.deepEqual([answers.ok, read], [true, { ok: false, why: "its answers have no time" }]);
  assert.equal(clock.pendingTimers, 0);
});

test("a server that does not answer has no clock, for the same reason", async () => {
  const [client, clock] = [createScriptedKubeClient(), createVirtualClock()];
  client.onRequest = () => {
    throw new KubeError("network", "GET /version: connect ECONNREFUSED");
  };
  const { answers, clock: read } = await readGreeting(client, { clock, signal });
  assert.equal(answers.ok, false);
  assert.deepEqual(read, answers);
});
