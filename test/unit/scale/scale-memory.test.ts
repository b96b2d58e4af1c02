import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { fingerprintOf, ScaleMemory, hasSameScale } from "../../../src/scale/scale-memory.ts";
import { type JsonObject } from "../../double/index.ts";
import { databaseBody, scaledCrd } from "../../double/scaled-crd.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createCore } from "../generator/core-cluster.ts";

const { signal } = new AbortController();

async function bench() {
  const core = await createCore();
  const type = await core.engine.installCrd(scaledCrd());
  const { metadata } = await core.engine.create(type, "default", databaseBody("orders"));
  const client = new EngineClient("core", core.engine);
  const memory = new ScaleMemory(client);
  const resource = { group: "example.com", version: "v1", resource: "databases" };
  const mapping = { resource, kind: "Database", isNamespaced: true, hasScale: true };
  const target = { mapping, namespace: "default", name: "orders", uid: metadata.uid };
  const read = () => memory.read(target, fingerprintOf(core.engine.get(type, "default", "orders")), signal);
  const patch = (body: JsonObject, subresource?: "status") =>
    core.engine.patch(
      type,
      "default",
      "orders",
      { contentType: "application/merge-patch+json", body },
      subresource === undefined ? {} : { subresource },
    );
  return { client, memory, read, patch, uid: metadata.uid };
}

test("an object as it was costs no request, and many questions at once cost one", async () => {
  const { client, read } = await bench();
  await Promise.all(Array.from({ length: 50 }, read));
  await read();
  assert.equal(client.log.length, 1);
});

test("a change costs one request, a heartbeat none, and who is forgotten is read anew", async () => {
  const { client, memory, read, patch, uid } = await bench();
  await patch({ status: { selector: "app=a", beat: "1" } }, "status");
  await read();
  await patch({ status: { beat: "2" } }, "status");
  await read();
  assert.equal(client.log.length, 1);
  await patch({ spec: { members: 6 } });
  assert.deepEqual(await read(), { kind: "scale", scale: { replicas: 6, selector: "app=a" } });
  assert.equal(client.log.length, 2);
  memory.forget(uid);
  await read();
  assert.equal(client.log.length, 3);
});

test("who asks after a change is not answered with what was asked for before it", async () => {
  const { client, read, patch } = await bench();
  let release = (): void => {};
  const held = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
  client.onRequest = () => held;
  const first = read();
  await patch({ status: { selector: "app=a" } }, "status");
  const second = read();
  release();
  await first;
  assert.deepEqual(await second, { kind: "scale", scale: { replicas: 5, selector: "app=a" } });
  assert.equal(client.log.length, 2);
});

test("trouble is not remembered", async () => {
  const { client, read } = await bench();
  client.onRequest = () => new KubeError("timeout", "slow");
  assert.equal((await read()).kind, "notNow");
  client.onRequest = () => undefined;
  assert.equal((await read()).kind, "scale");
});

const object = (status: unknown, metadata: object = {}) =>
  fingerprintOf({ metadata: { uid: "u", generation: 1, resourceVersion: "7", ...metadata }, status });
const isSame = (before: unknown, now: unknown, selector = "app=a"): boolean =>
  hasSameScale(object(before), object(now), selector);

test("a heartbeat in the status changes no scale, once the selector is known", () => {
  assert.ok(isSame({ selector: "app=a", beat: "1", phase: "x" }, { selector: "app=a", beat: "2", extra: "new" }));
  assert.ok(isSame({ pods: { selector: "app=a" } }, { pods: { selector: "app=a", conditions: ["new"] } }));
});

test("another selector, another generation and another object may change the scale", () => {
  assert.ok(!isSame({ selector: "app=a" }, { selector: "app=b" }));
  assert.ok(!isSame({ selector: "app=a", copy: "app=a" }, { selector: "app=b", copy: "app=a" }));
  assert.ok(!isSame({ selector: "app=a" }, {}));
  const before = object({ selector: "app=a" });
  assert.ok(!hasSameScale(before, object({ selector: "app=a" }, { generation: 2 }), "app=a"));
  assert.ok(!hasSameScale(before, object({ selector: "app=a" }, { uid: "v" }), "app=a"));
});

test("while there is no selector, any text of the status may become it", () => {
  assert.ok(isSame({ replicas: 1 }, { replicas: 2 }, ""));
  assert.ok(!isSame({}, { labelSelector: "app=a" }, ""));
  assert.ok(!isSame({ phase: "x" }, { phase: "y" }, ""));
});

test("without a generation, or where a limit left something out, each version counts as a change", () => {
  const large = { texts: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`t${index}`, "x"])) };
  const long = { selector: "a".repeat(5_000) };
  const deep = { a: { b: { c: { d: { e: { selector: "app=a" } } } } } };
  for (const status of [large, long, deep]) {
    assert.ok(!hasSameScale(object(status), object(status, { resourceVersion: "8" }), "app=a"));
    assert.ok(hasSameScale(object(status), object(status), "app=a"));
  }
  const old = object({ selector: "app=a" }, { generation: undefined });
  assert.ok(
    !hasSameScale(old, object({ selector: "app=a" }, { generation: undefined, resourceVersion: "8" }), "app=a"),
  );
});
