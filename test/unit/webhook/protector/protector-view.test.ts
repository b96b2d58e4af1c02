import assert from "node:assert/strict";
import { test } from "node:test";
import { readProtector } from "../../../../src/kube/resources.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import {
  decodeWatched,
  isCounted,
  isProtected,
  judge,
  type ProtectorView,
  readView,
  viewOf as compiledView,
} from "../../../../src/webhook/protector/protector-view.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { cell, type Json, protector, type ProtectorParts } from "../support/objects.ts";
import { allInForce, deletionOf, protectorView, viewOf } from "../support/views.ts";

function raw(parts: ProtectorParts = {}, metadata: Json = {}): Json {
  const object = protector(parts);
  return { ...object, metadata: { ...(object["metadata"] as Json), resourceVersion: "7", ...metadata } };
}

function readStored(object: Json): ReturnType<typeof readView> {
  const read = readProtector(object);
  assert.ok(read.ok);
  return readView(read.stored, undefined);
}

function view(object: Json, previous?: ProtectorView): ProtectorView {
  return viewOf(object, 7, previous);
}

test("a view counts by aggregationSelector and protects by selector", () => {
  const wide = view(
    raw({ selector: { matchLabels: { tier: "front" } }, aggregationSelector: { matchLabels: { app: "web" } } }),
  );
  assert.equal(isCounted(wide, { app: "web" }), true);
  assert.equal(isProtected(wide, { app: "web" }), false);
  assert.equal(isProtected(wide, { app: "web", tier: "front" }), true);
  assert.equal(isCounted(wide, { tier: "front" }), false);
});

test("a view protects all that it counts when there is only one selector", () => {
  const plain = view(raw());
  assert.equal(isCounted(plain, { app: "web" }), true);
  assert.equal(isProtected(plain, { app: "web" }), true);
});

test("a view knows the generator's mark, whatever its value", () => {
  assert.equal(view(raw()).isReleased, false);
  assert.equal(view(raw({ annotations: { [annotations.released]: "" } })).isReleased, true);
});

test("compiled selectors are reused for the same spec of the same object only, whatever its generation says", () => {
  const first = view(raw());
  assert.equal(view(raw(), first).spec, first.spec);
  assert.notEqual(view(raw({ uid: "another" }), first).spec, first.spec);
  const edited = view(raw({ selector: { matchLabels: { app: "other" } } }), first);
  assert.equal(isCounted(edited, { app: "other" }), true);
  assert.notEqual(edited.spec.countedSpec, first.spec.countedSpec);
});

test("an invalid selector is named", () => {
  const bad = { matchExpressions: [{ key: "app", operator: "In", values: [] }] };
  for (const [parts, pattern] of [
    [{ selector: bad }, /^spec\.selector: key "app": operator In needs values$/],
    [{ aggregationSelector: bad }, /^spec\.aggregationSelector: /],
  ] as const) {
    const read = readStored(raw(parts));
    assert.ok(!read.ok);
    assert.match(read.reason, pattern);
  }
});

test("the informer stores an invalid object too, with its key and the reason", () => {
  const watched = decodeWatched({ ...raw(), spec: { minAvailable: "many" } });
  assert.equal(watched?.key, "ns/web");
  assert.ok(watched !== undefined && !watched.content.ok);
  assert.match(watched.content.reason, /spec/);
});

test("the informer stores nothing that has no name, namespace, UID or version", () => {
  for (const metadata of [
    { name: undefined },
    { namespace: undefined },
    { uid: undefined },
    { resourceVersion: undefined },
    { resourceVersion: "x" },
  ]) {
    assert.equal(decodeWatched(raw({}, metadata)), undefined, JSON.stringify(metadata));
  }
  for (const odd of [undefined, null, 7, "text", [], { metadata: null }]) assert.equal(decodeWatched(odd), undefined);
});

const ruleWith = (maxConcurrentLag: number) => ({
  clock: createVirtualClock(),
  history: { maxConcurrentLag, compactThreshold: 100, aggregationRateMs: 1000 },
  requiresPodName: () => true,
  legacyCellHoldMs: 0,
});

test("the rule takes the flags where the PodProtector sets nothing, and its own settings before them", () => {
  const deletions = ["p", "q"].map((name) => deletionOf(name));
  const kinds = (parts: ProtectorParts): string[] =>
    judge(protectorView(parts), allInForce, deletions, ruleWith(1)).verdicts.map(({ kind }) => kind);
  assert.deepEqual(kinds({ cells: [cell("c1", 100)] }), ["admitted", "retry"]);
  const own = { cells: [cell("c1", 100)], admissionHistoryConfig: { maxConcurrentLag: 2 } };
  assert.deepEqual(kinds(own), ["admitted", "admitted"]);
});

test("the rule knows which of the counted pods are protected", () => {
  const counted = protectorView({
    cells: [cell("c1", 80)],
    selector: { matchLabels: { app: "web", tier: "front" } },
    aggregationSelector: { matchLabels: { app: "web" } },
  });
  const deletions = [deletionOf("p", { app: "web", tier: "front" }), deletionOf("q", { app: "web" })];
  const { verdicts } = judge(counted, allInForce, deletions, ruleWith(0));
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ["rejected", "admitted"],
  );
});

test("records are stamped with the wall clock", () => {
  const { status } = judge(protectorView({ cells: [cell("c1", 100)] }), allInForce, [deletionOf("p")], ruleWith(0));
  const [bucket] = status?.cells[0]?.admissionHistory?.buckets ?? [];
  assert.equal(bucket?.startTime, "2026-01-01T00:00:00.000000Z");
  assert.equal(bucket?.podName, "p");
});

test("an unknown field of the spec may be nested as deeply as the API server lets JSON be", () => {
  const nested = '{"a":'.repeat(9_000) + "1" + "}".repeat(9_000);
  const object = protector({ cells: [cell("c1", 100)] });
  const text = JSON.stringify({ ...object, metadata: { ...(object["metadata"] as object), resourceVersion: "5" } });
  const stored = () => {
    const watched = decodeWatched(JSON.parse(text.replace('"spec":{', `"spec":{"extra":${nested},`)));
    assert.ok(watched?.content.ok === true);
    return watched.content.stored;
  };
  const first = compiledView(stored(), undefined);
  assert.ok(first.ok);
  assert.ok(compiledView(stored(), first.view).ok);
});
