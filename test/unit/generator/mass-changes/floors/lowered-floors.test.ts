import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { LoweredFloors } from "../../../../../src/generator/mass-changes/floors/lowered-floors.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { readProtector, type StoredProtector } from "../../../../../src/kube/resources.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";
import { namesOf, startHolding, tally } from "../bursts.ts";
import { noon, protector } from "../samples.ts";

const { signal } = new AbortController();
const secondMs = 1_000;

function raw(name: string, resourceVersion: string, minAvailable: number, before?: string) {
  const whole = protector(minAvailable, before === undefined ? {} : { [annotations.floorBefore]: before });
  return { ...whole, metadata: { ...whole.metadata, name, uid: `uid-${name}`, resourceVersion } };
}

function stored(name: string, resourceVersion: string, minAvailable: number, before?: string): StoredProtector {
  const read = readProtector(raw(name, resourceVersion, minAvailable, before));
  assert.ok(read.ok);
  return read.stored;
}

function bench(cached: readonly StoredProtector[] = []) {
  const core = createScriptedKubeClient();
  const protectors = { get: (key: string) => cached.find((one) => one.key === key) };
  const clock = { epochMicros: () => noon } as never;
  return { core, lowered: new LoweredFloors({ core, namespace: undefined, protectors, clock }) };
}

const lately = "6@2026-01-01T11:59:00Z";

test("what was lowered lately is taken from a live list of all pages, not from a cache that is behind", async () => {
  const { core, lowered } = bench([stored("a", "3", 6), stored("b", "4", 6)]);
  core.onRequest = ({ query }) =>
    query?.["continue"] === undefined
      ? { metadata: { resourceVersion: "20", continue: "more" }, items: [raw("a", "11", 0, lately), raw("c", "5", 6)] }
      : { metadata: { resourceVersion: "20" }, items: [{}, raw("b", "12", 1, lately)] };
  const found = await lowered.list(signal);
  assert.deepEqual(
    found.map(({ protector: { metadata, spec } }) => [metadata.name, spec.minAvailable]),
    [
      ["a", 0],
      ["b", 1],
    ],
  );
  assert.ok(
    core.requests.every(
      ({ path, query }) => path.endsWith("/podprotectors") && query?.["resourceVersion"] === undefined,
    ),
  );
});

test("what the cache has newer counts, and what was lowered long ago does not", async () => {
  const { core, lowered } = bench([stored("a", "30", 6), stored("b", "31", 0, lately)]);
  const items = [raw("a", "11", 0, lately), raw("b", "12", 6), raw("c", "13", 0, "6@2026-01-01T11:00:00Z")];
  core.onRequest = () => ({ metadata: { resourceVersion: "20" }, items });
  const found = await lowered.list(signal);
  assert.deepEqual(
    found.map(({ protector: { metadata } }) => metadata.name),
    ["b"],
  );
});

test("a list that fails, or is none, is an error", async () => {
  const { core, lowered } = bench();
  core.onRequest = () => ({ metadata: { resourceVersion: "1" }, items: "none" });
  await assert.rejects(lowered.list(signal), /not a list/);
  core.onRequest = () => {
    throw new KubeError("serverError", "503");
  };
  await assert.rejects(lowered.list(signal), /503/);
});

test("a new leader whose watch was silent counts what the former one let pass, once it has listed", async () => {
  const shop = namesOf("shop", 17);
  const bench = await startHolding();
  await bench.run(shop);
  await bench.clock.advance(60 * secondMs);
  const next = bench.startGenerator({}, { massChanges: { policy: "hold", allow: [] }, standby: true });
  await next.ready();
  // Nothing comes through its watch of PodProtectors any more, which does not break.
  next.client.lagMs = (path) => (path.includes("podprotectors") ? 3_600 * secondMs : 0);
  await bench.edit(shop.slice(0, 7), { replicas: 0 }, "sync-tool");
  await bench.clock.advance(10 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 7, 6: 10 });
  await bench.generator.stop();
  let isDown = true;
  next.client.onRequest = (_, what) => (isDown && /^GET .*\/podprotectors$/.test(what) ? "before" : undefined);
  await next.lead();
  await bench.edit(shop.slice(7, 9), { replicas: 0 }, "sync-tool");
  await bench.edit(shop.slice(16), { replicas: 12 }, "sync-tool");
  await bench.clock.advance(20 * secondMs);
  // Nothing is lowered before the list is there; what rises does not wait for it.
  assert.deepEqual(tally(bench.floors(shop)), { 0: 7, 6: 9, 9: 1 });
  isDown = false;
  await bench.clock.advance(60 * secondMs);
  assert.deepEqual(tally(bench.floors(shop)), { 0: 7, 6: 9, 9: 1 });
  next.metrics.scrape();
  assert.equal(next.metrics.value("generator_held_changes", { cause: "manager/sync-tool" }), 2);
  await next.stop();
});
