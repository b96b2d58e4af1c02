import assert from "node:assert/strict";
import { test } from "node:test";
import { DefinitionState, type DefinitionLoss } from "../../../../src/webhook/protector/definition-state.ts";
import { type MonotonicMs } from "../../../../src/util/clock.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { FakeCore } from "../support/fake-core.ts";

const at = 7 as MonotonicMs;

function definitionOf() {
  const clock = createVirtualClock();
  const core = new FakeCore(clock);
  core.latencyMs = 0;
  const losses: (DefinitionLoss | undefined)[] = [];
  const state = new DefinitionState({ client: core.client(), onLoss: (loss) => void losses.push(loss) });
  const read = async () => {
    const answer = state.read(new AbortController().signal);
    await clock.advance(1);
    return answer;
  };
  return { core, state, losses, read };
}

test("the CRD is the one that is read after a list of PodProtectors", async () => {
  const { core, state, read } = definitionOf();
  assert.equal(state.isDue, false);
  state.listed();
  assert.equal(state.isDue, true);
  await read();
  assert.equal(state.isDue, false);
  assert.equal(state.uid, "crd-1");
  core.definition = { metadata: { uid: "crd-2" } };
  await read();
  assert.equal(state.uid, "crd-1", "what was listed before was listed under the former one");
  state.listed();
  await read();
  assert.equal(state.uid, "crd-2");
});

test("a CRD that is not served or is being deleted is reported once, and its return too", async () => {
  const { core, state, losses, read } = definitionOf();
  core.definition = { metadata: { uid: "crd-1", deletionTimestamp: "2026-01-01T00:00:00Z" } };
  await read();
  await read();
  state.notServed(at);
  state.notServed(at);
  assert.equal(state.notServedAtMs, at);
  state.listed();
  assert.equal(state.notServedAtMs, undefined);
  assert.deepEqual(losses, ["Terminating", "NotServed", undefined]);
});

test("a failed read of the CRD leaves it due", async () => {
  const { core, state, read } = definitionOf();
  core.script = () => ({ refuse: "serverError" });
  state.listed();
  assert.equal((await read()).kind, "failed");
  assert.equal(state.isDue, true);
  core.script = () => ({ refuse: "forbidden" });
  await read();
  assert.equal(state.isDue, false, "the right may be missing for ever");
  assert.equal(state.uid, undefined);
});
