import assert from "node:assert/strict";
import { test } from "node:test";
import { readProtector } from "../../../src/kube/resources.ts";

const raw = {
  metadata: { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" },
  spec: { minAvailable: 1, minReadySeconds: 0, selector: {} },
};

test("an item of a list, which has no apiVersion and kind, is read with its key, UID and version", () => {
  const read = readProtector(raw);
  assert.ok(read.ok);
  const { key, uid, resourceVersion, protector } = read.stored;
  assert.deepEqual(
    { key, uid, resourceVersion, kind: protector.kind },
    { key: "shop/web", uid: "u", resourceVersion: "7", kind: "PodProtector" },
  );
});

test("an unusable object is refused with the field that is wrong", () => {
  const wrong = (change: object): unknown => readProtector({ ...raw, ...change });
  assert.match(JSON.stringify(wrong({ spec: { ...raw.spec, minAvailable: "1" } })), /spec\.minAvailable/);
  assert.match(
    JSON.stringify(wrong({ metadata: { ...raw.metadata, resourceVersion: "0x7" } })),
    /metadata\.resourceVersion/,
  );
  assert.match(JSON.stringify(readProtector(null)), /"ok":false/);
});
