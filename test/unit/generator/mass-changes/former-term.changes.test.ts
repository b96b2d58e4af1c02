import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { annotations, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { loweredBefore, LoweredFloors, releasedBefore } from "../../../../src/generator/mass-changes/former-term.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type Switched } from "../../../../src/generator/sources/namespace-modes.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { after, deployment, managed, noon, protector, rule } from "./samples.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { namesOf, startHolding, tally } from "./bursts.ts";

/** What a new leader knows: the source of each PodProtector, and who has switched the namespace to shadow. */
const known = (source: SourceRecord | undefined, shadowed?: Switched) => ({
  sources: { get: () => source },
  modes: { switched: (_namespace: string, to: string) => (to === "shadow" ? shadowed : undefined) },
  rule,
});

function generated(minAvailable: number, set: Readonly<Record<string, string>> = {}) {
  const one = protector(minAvailable, { [annotations.floorBefore]: "6@2026-01-01T12:00:00Z", ...set });
  const { name, group, kind, resource } = sourceLabels;
  const labels = { [name]: "web", [group]: "apps", [kind]: "Deployment", [resource]: "deployments" };
  const metadata = { ...one.metadata, labels };
  return { key: objectKey("shop", "deployment-web"), uid: "p", protector: { ...one, metadata } } as never;
}

test("releases count by their causes, those of one namespace as one, and others not at all", () => {
  const causes = ["owner/App.example.com", "manager/tool", "namespaces/shop", "not selected in shop", "by hand"];
  const releases = causes.map((cause, index) => ({
    digest: `${index}`,
    releasedAt: noon,
    cause,
    number: index,
    namespace: "shop",
  }));
  assert.deepEqual(
    releasedBefore(releases).map(({ id, cause }) => [id, cause]),
    [
      ["0", "owner/App.example.com"],
      ["1", "manager/tool"],
      ["namespaces/shop", "namespaces"],
    ],
  );
});

test("a floor that was lowered far counts by its annotation, if its source is there and says who did it", () => {
  const fields = { "f:spec": { "f:replicas": {} } };
  const source = deployment(1, { managedFields: [managed("tool", fields)] });
  const found = loweredBefore(generated(1), known(source), after(60));
  const cause = "manager/tool";
  assert.deepEqual(found, { id: digestOfUID("p"), cause, at: noon, endsProtection: false, isApplied: true });
  assert.equal(loweredBefore(generated(4), known(source), after(60)), undefined);
  assert.equal(loweredBefore(generated(1), known(undefined), after(60)), undefined);
  assert.equal(loweredBefore(generated(1), known(source), after(3_600)), undefined);
});

test("what was put in shadow counts by whoever has switched the namespace, and not at all if a flag has", () => {
  const shadow = generated(6, { [annotations.mode]: "shadow" });
  const source = deployment(8);
  const by = { manager: "tool", subresource: undefined, time: noon };
  const found = loweredBefore(shadow, known(source, { by }), after(60));
  const cause = "manager/tool";
  assert.deepEqual(found, { id: digestOfUID("p"), cause, at: noon, endsProtection: true, isApplied: true });
  assert.equal(loweredBefore(shadow, known(source), after(60)), undefined);
  assert.equal(loweredBefore(shadow, known(undefined, { by }), after(60)), undefined);
  assert.equal(loweredBefore(generated(6), known(source, { by }), after(60)), undefined);
});

test("a floor that follows workloads counts by its annotation alone", () => {
  const lowered = (spec: object) => {
    const one = protector(0, { [annotations.floorBefore]: "6@2026-01-01T12:00:00Z" });
    const stored = { key: "shop/mine", uid: "p", protector: { ...one, spec: { ...one.spec, ...spec } } } as never;
    return loweredBefore(stored, known(undefined), after(60))?.cause;
  };
  assert.deepEqual([lowered({ maxUnavailable: 1 }), lowered({})], ["manager/unknown", undefined]);
});

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
});
