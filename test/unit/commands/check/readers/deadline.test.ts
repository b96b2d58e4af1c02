import assert from "node:assert/strict";
import { test } from "node:test";
import { readGreeting, readInTime } from "../../../../../src/commands/check/readers/deadline.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { leases } from "../../../../../src/kube/resources.ts";
import { type EpochMicros } from "../../../../../src/util/clock.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const access = { cluster: "core", verb: "list", resource: leases, namespace: "podseidon-system" } as const;
const signal = new AbortController().signal;

test("a read that is answered gives its value, and leaves no timer", async () => {
  const clock = createVirtualClock();
  assert.deepEqual(await readInTime(access, { clock, signal }, async () => 1), { ok: true, value: 1 });
  assert.equal(clock.pendingTimers, 0);
});

test("a read without an answer ends at its deadline, and says so", async () => {
  const clock = createVirtualClock();
  const pending = readInTime(access, { clock, signal }, (own) => {
    return new Promise((_, reject) => own.addEventListener("abort", () => reject(new KubeError("aborted", "aborted"))));
  });
  await clock.advance(2_000);
  assert.deepEqual(await pending, { ok: false, why: "core gave no answer within 2 s" });
});

test("a right that is missing is named", async () => {
  const read = await readInTime(access, { clock: createVirtualClock(), signal }, async () => {
    throw new KubeError("forbidden", "no");
  });
  const why = read.ok ? "" : read.why;
  assert.match(why, /^core: you may not list leases\.coordination\.k8s\.io in namespace podseidon-system; /);
  assert.match(why, /ask for the role podseidon-check$/);
});

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
