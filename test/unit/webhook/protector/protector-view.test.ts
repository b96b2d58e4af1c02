import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import {
  decodeWatched,
  isCounted,
  isProtected,
  type ProtectorView,
  readView,
} from "../../../../src/webhook/protector/protector-view.ts";
import { type Json, protector, type ProtectorParts } from "../support/objects.ts";

function raw(parts: ProtectorParts = {}, metadata: Json = {}): Json {
  const object = protector(parts);
  return { ...object, metadata: { ...(object["metadata"] as Json), resourceVersion: "7", ...metadata } };
}

function view(object: Json, previous?: ProtectorView): ProtectorView {
  const read = readView(object, previous);
  assert.ok(read.ok);
  return read.view;
}

describe("protector views", () => {
  it("count by aggregationSelector and protect by selector", () => {
    const wide = view(
      raw({ selector: { matchLabels: { tier: "front" } }, aggregationSelector: { matchLabels: { app: "web" } } }),
    );
    assert.equal(isCounted(wide, { app: "web" }), true);
    assert.equal(isProtected(wide, { app: "web" }), false);
    assert.equal(isProtected(wide, { app: "web", tier: "front" }), true);
    assert.equal(isCounted(wide, { tier: "front" }), false);
  });

  it("protect all that they count when there is only one selector", () => {
    const plain = view(raw());
    assert.equal(isCounted(plain, { app: "web" }), true);
    assert.equal(isProtected(plain, { app: "web" }), true);
  });

  it("know the generator's mark, whatever its value", () => {
    assert.equal(view(raw()).isReleased, false);
    assert.equal(view(raw({ annotations: { [annotations.released]: "" } })).isReleased, true);
  });

  it("reuse the compiled selectors of the same spec of the same object only, whatever its generation says", () => {
    const first = view(raw());
    assert.equal(view(raw(), first).spec, first.spec);
    assert.notEqual(view(raw({ uid: "another" }), first).spec, first.spec);
    const edited = view(raw({ selector: { matchLabels: { app: "other" } } }), first);
    assert.equal(isCounted(edited, { app: "other" }), true);
    assert.notEqual(edited.spec.countedSpec, first.spec.countedSpec);
  });

  it("say which selector cannot be understood", () => {
    const bad = { matchExpressions: [{ key: "app", operator: "In", values: [] }] };
    for (const [parts, pattern] of [
      [{ selector: bad }, /^spec\.selector: key "app": operator In needs values$/],
      [{ aggregationSelector: bad }, /^spec\.aggregationSelector: /],
    ] as const) {
      const read = readView(raw(parts), undefined);
      assert.ok(!read.ok);
      assert.match(read.reason, pattern);
    }
  });
});

describe("what the informer stores", () => {
  it("is also an object that cannot be understood, with its key and the reason", () => {
    const watched = decodeWatched({ ...raw(), spec: { minAvailable: "many" } });
    assert.equal(watched?.key, "ns/web");
    assert.ok(watched !== undefined && !watched.content.ok);
    assert.match(watched.content.reason, /spec/);
  });

  it("is nothing for what has no name, namespace, UID or version", () => {
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
});
