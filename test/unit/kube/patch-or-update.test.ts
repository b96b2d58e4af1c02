import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError, KubeError, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { patchOrUpdate } from "../../../src/kube/patch-or-update.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createCountingMetrics } from "./counting-metrics.ts";
import { createScriptedKubeClient } from "./scripted-kube-client.ts";

const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/one";
const stored = {
  apiVersion: "coordination.k8s.io/v1",
  metadata: { name: "one", resourceVersion: "7", annotations: { kept: "yes", dropped: "yes" } },
  spec: { holderIdentity: "a", list: [1, 2] },
};
const body = { metadata: { annotations: { dropped: null, added: "yes" } }, spec: { list: [3] } };
const patchOf = (fields: Partial<KubeRequest> = {}): KubeRequest => ({
  method: "PATCH",
  path,
  contentType: "application/merge-patch+json",
  body,
  ...fields,
});
const forbidden = (): KubeError => new KubeError("forbidden", "403", { code: 403 });

/** A client whose account has only these verbs. */
function setUp(...verbs: readonly KubeRequest["method"][]) {
  const inner = createScriptedKubeClient();
  inner.onRequest = ({ method, body: sent }) => {
    if (!verbs.includes(method)) throw forbidden();
    return method === "GET" ? stored : sent;
  };
  const logger = createRecordingLogger();
  const metrics = createCountingMetrics();
  const clock = createVirtualClock();
  return { inner, clock, logger, metrics, client: patchOrUpdate(inner, { clock, logger, metrics }) };
}

test("an account that may patch sends its patches unchanged", async () => {
  const { inner, client, logger } = setUp("PATCH", "GET", "PUT");
  await client.request(patchOf());
  assert.deepEqual(inner.requests, [patchOf()]);
  assert.deepEqual(logger.entries, []);
});

test("an account that may only update writes the whole object, at the version that it has read", async () => {
  const { inner, client } = setUp("GET", "PUT");
  assert.deepEqual(await client.request(patchOf()), {
    apiVersion: "coordination.k8s.io/v1",
    metadata: { name: "one", resourceVersion: "7", annotations: { kept: "yes", added: "yes" } },
    spec: { holderIdentity: "a", list: [3] },
  });
  assert.deepEqual(
    inner.requests.map(({ method, path: asked }) => `${method} ${asked}`),
    [`PATCH ${path}`, `GET ${path}`, `PUT ${path}`],
  );
});

test("the version that a patch names stays the precondition of the update", async () => {
  const { client } = setUp("GET", "PUT");
  const answer = await client.request(patchOf({ body: { metadata: { resourceVersion: "5" } } }));
  assert.equal((answer as typeof stored).metadata.resourceVersion, "5");
});

test("a missing right to patch is said once for each resource, counted each time, and not tried at once", async () => {
  const { inner, client, logger, metrics } = setUp("GET", "PUT");
  const others = ["/apis/apps/v1/namespaces/default/deployments/web", "/api/v1/namespaces/default"];
  for (const one of [path, path, path.replace("one", "two"), ...others]) await client.request(patchOf({ path: one }));
  assert.deepEqual(
    logger.entries.map(({ level, fields }) => [level, fields["resource"]]),
    [
      ["warn", "leases.coordination.k8s.io"],
      ["warn", "deployments.apps"],
      ["warn", "namespaces"],
    ],
  );
  const labels = { cluster: "test", resource: "leases.coordination.k8s.io" };
  assert.equal(metrics.value("kube_client_update_instead_of_patch_total", labels), 3);
  assert.equal(inner.requests.filter(({ method }) => method === "PATCH").length, 3);
});

test("a missing right to patch is said once by patches that are on their way at the same time", async () => {
  const { client, logger } = setUp("GET", "PUT");
  await Promise.all(
    ["one", "two", "three"].map((name) => client.request(patchOf({ path: path.replace("one", name) }))),
  );
  assert.equal(logger.entries.length, 1);
});

test("a patch is tried again after ten minutes, and goes on once it is allowed", async () => {
  const { inner, client, clock, logger } = setUp("GET", "PUT");
  const patches = (): number => inner.requests.filter(({ method }) => method === "PATCH").length;
  for (const [minutes, expected] of [
    [0, 1],
    [9, 1],
    [1, 2],
    [9, 2],
  ] as const) {
    await clock.advance(minutes * 60_000);
    await client.request(patchOf());
    assert.equal(patches(), expected);
  }
  assert.equal(logger.entries.length, 1, "said once while it lasts");
  inner.onRequest = () => stored;
  await clock.advance(60_000);
  for (let write = 0; write < 3; write++) await client.request(patchOf());
  assert.equal(patches(), 5);
});

test("an account that may neither patch nor update gets the answer to its patch, each time", async () => {
  const { inner, client, logger } = setUp("GET");
  for (let attempt = 0; attempt < 2; attempt++)
    await assert.rejects(client.request(patchOf()), (error) => isKubeError(error, "forbidden"));
  assert.equal(inner.requests.filter(({ method }) => method === "PATCH").length, 2);
  assert.deepEqual(logger.entries, []);
});

test("what the update meets is thrown: an object that is gone, or a version that is not the newest", async () => {
  for (const kind of ["notFound", "conflict"] as const) {
    const { inner, client } = setUp("GET", "PUT");
    inner.onRequest = ({ method }) => {
      if (method === "GET") return stored;
      throw method === "PATCH" ? forbidden() : new KubeError(kind, kind);
    };
    await assert.rejects(client.request(patchOf()), (error) => isKubeError(error, kind));
  }
});

test("other failures of a patch, and other requests, are left alone", async () => {
  const { inner, client } = setUp("GET", "PUT");
  inner.onRequest = () => {
    throw new KubeError("serverError", "500", { code: 500 });
  };
  await assert.rejects(client.request(patchOf()), (error) => isKubeError(error, "serverError"));
  inner.onRequest = () => {
    throw forbidden();
  };
  const jsonPatch = patchOf({ contentType: "application/json-patch+json", body: [] });
  await assert.rejects(client.request(jsonPatch), (error) => isKubeError(error, "forbidden"));
  assert.deepEqual(
    inner.requests.map(({ method }) => method),
    ["PATCH", "PATCH"],
  );
});
