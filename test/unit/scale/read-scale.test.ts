import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { readScale, type ScaleTarget, readScaleSelector } from "../../../src/scale/read-scale.ts";
import { databaseBody, scaledCrd } from "../../double/scaled-crd.ts";
import { EngineClient, type Fault } from "../../support/engine-client.ts";
import { createCore } from "../generator/core-cluster.ts";

const { signal } = new AbortController();

async function bench() {
  const core = await createCore();
  const type = await core.engine.installCrd(scaledCrd());
  const created = await core.engine.create(type, "default", databaseBody("orders"));
  const client = new EngineClient("core", core.engine);
  const resource = { group: "example.com", version: "v1", resource: "databases" };
  const mapping = { resource, kind: "Database", isNamespaced: true, hasScale: true };
  const target: ScaleTarget = { mapping, namespace: "default", name: "orders", uid: created.metadata.uid };
  const read = async (more: Partial<ScaleTarget> = {}, fault?: Fault) => {
    client.onRequest = () => fault;
    const answer = await readScale(client, { ...target, ...more }, signal);
    return answer.kind === "lasting" ? answer.problem : answer.kind;
  };
  return { ...core, type, client, target, read };
}

test("a scale has the replicas of the spec and the selector of the status", async () => {
  const { client, engine, type, target } = await bench();
  const empty = { kind: "scale", scale: { replicas: 5, selector: "" } };
  assert.deepEqual(await readScale(client, target, signal), empty);
  const body = { spec: { members: 0 } };
  await engine.patch(type, "default", "orders", { contentType: "application/merge-patch+json", body });
  const none = { kind: "scale", scale: { replicas: 0, selector: "" } };
  assert.deepEqual(await readScale(client, target, signal), none);
});

test("what is missing, forbidden, wrong and not to be known now is told apart", async () => {
  const { read, target } = await bench();
  assert.equal(await read({ name: "other" }), "missing");
  assert.equal(await read({ uid: "other" }), "missing");
  assert.equal(await read({ mapping: { ...target.mapping, hasScale: false } }), "notScalable");
  assert.equal(await read({}, new KubeError("forbidden", "403")), "forbidden");
  for (const kind of ["serverError", "timeout", "network", "tooManyRequests", "unauthorized"] as const)
    assert.equal(await read({}, new KubeError(kind, kind)), "notNow");
  const resource = { ...target.mapping.resource, version: "v9" };
  assert.equal(await read({ mapping: { ...target.mapping, resource } }), "notNow", "the path is not served");
});

test("an object without replicas is wrong, although the server calls it an internal error", async () => {
  const { engine, type, read, client, target } = await bench();
  const body = { spec: { members: null } };
  await engine.patch(type, "default", "orders", { contentType: "application/merge-patch+json", body });
  assert.equal(await read(), "wrong");
  const uid = target.uid;
  for (const answer of [{}, { kind: "Scale", metadata: { uid } }, { kind: "Scale", spec: { replicas: "3" } }]) {
    const whole = { ...answer, metadata: { uid } };
    client.request = async () => whole;
    const odd = await readScale(client, target, signal);
    assert.equal(odd.kind === "lasting" && odd.problem, "wrong", JSON.stringify(whole));
  }
});

test("who is told to stop gets no answer", async () => {
  const { client, target } = await bench();
  await assert.rejects(readScale(client, target, AbortSignal.abort()), /aborted/);
});

test("single values become matchLabels, and the rest expressions", () => {
  assert.deepEqual(readScaleSelector("app=web,tier==db"), {
    ok: true,
    selector: { matchLabels: { app: "web", tier: "db" } },
  });
  assert.deepEqual(readScaleSelector("app=web,zone in (a,b),!old"), {
    ok: true,
    selector: {
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "zone", operator: "In", values: ["a", "b"] },
        { key: "old", operator: "DoesNotExist" },
      ],
    },
  });
});

test("two values of one key stay two requirements", () => {
  assert.deepEqual(readScaleSelector("app=a,app=b"), {
    ok: true,
    selector: { matchLabels: { app: "a" }, matchExpressions: [{ key: "app", operator: "In", values: ["b"] }] },
  });
});

test("a selector that selects everything, or that nobody can read, is refused with the reason", () => {
  assert.deepEqual(readScaleSelector(" "), { ok: false, reason: "it is empty" });
  const read = readScaleSelector("app=web=db");
  assert.match(read.ok ? "" : read.reason, /"app=web=db" is not a label selector/);
});
