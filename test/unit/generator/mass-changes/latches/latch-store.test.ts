import assert from "node:assert/strict";
import { test } from "node:test";
import { LatchStore } from "../../../../../src/generator/mass-changes/latches/latch-store.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { EngineClient } from "../../../../support/engine-client.ts";
import { createCountingMetrics } from "../../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../../observability/recording-logger.ts";
import { createCore } from "../../core-cluster.ts";
import { noon } from "../samples.ts";

const { signal } = new AbortController();
const none = { latched: new Map(), approvals: [] };
const some = { latched: new Map([["core", noon]]), approvals: [] };

async function bench() {
  const { engine } = await createCore();
  const core = new EngineClient("core", engine);
  const logger = createRecordingLogger();
  const failures = createCountingMetrics().counter("failures", "", ["error"]);
  return { core, logger, store: new LatchStore({ core, namespace: "default", logger, failures }) };
}

test("latches are read as they were written, in a ConfigMap that is made when it is needed", async () => {
  const { store, core } = await bench();
  assert.ok(await store.write(none, signal));
  assert.deepEqual(core.writes, []);
  assert.ok(await store.write(some, signal));
  assert.ok(await store.write(some, signal));
  assert.equal(core.writes.length, 1);
  assert.deepEqual((await store.read(signal)).latches, some);
  assert.ok(await store.write(none, signal));
  assert.deepEqual((await store.read(signal)).latches, none);
  assert.equal(await store.annotation("x", signal), undefined);
});

test("whoever writes meanwhile wins, and the write is tried again", async () => {
  const { store, core } = await bench();
  await store.write(some, signal);
  core.onWrite = () => new KubeError("conflict", "changed");
  assert.equal(await store.write(none, signal), false);
});

test("what is forbidden is tried again, since that may last for a moment only, and said once", async () => {
  const { store, core, logger } = await bench();
  core.onRequest = () => new KubeError("forbidden", "no");
  await assert.rejects(store.read(signal), /no/);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.annotation("x", signal), undefined);
  assert.equal(logger.entries.length, 1);
  core.onRequest = () => undefined;
  assert.ok(await store.write(some, signal));
  assert.deepEqual((await store.read(signal)).latches, some);
});

test("without an answer reading fails, and writing is tried again", async () => {
  const { store, core } = await bench();
  core.onRequest = () => "before";
  await assert.rejects(store.read(signal), /refused/);
  assert.equal(await store.write(some, signal), false);
  assert.equal(await store.annotation("x", signal), undefined);
});
