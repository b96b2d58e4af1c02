import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isKubeError,
  KubeError,
  type KubeRequest,
  asKubeError,
  errorLabel,
  resourcePath,
} from "../../../src/kube/kube-client.ts";
import { patchOrUpdate } from "../../../src/kube/patch-or-update.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { createRecordingLogger } from "../observability/recording-logger.ts";
import { createCountingMetrics } from "./counting-metrics.ts";
import { createScriptedKubeClient } from "./scripted-kube-client.ts";
import { createDummyPod, type DummyPod, dummyPodPath, touchOf } from "../../../src/kube/dummy-pod.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { pods, podProtectors } from "../../../src/kube/resources.ts";

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

const pod: DummyPod = {
  name: "dummy",
  namespace: "quiet",
  labels: { cell: "one" },
  annotations: { note: "mine" },
  image: ":",
  scheduler: "do-not-schedule",
};
const time = 1_000_000 as EpochMicros;

test("the dummy pod is made where the flags say, marked and never scheduled", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({});
  await createDummyPod(client, pod, time, new AbortController().signal);
  const [request] = client.requests;
  assert.equal(`${request?.method} ${request?.path}`, "POST /api/v1/namespaces/quiet/pods");
  assert.deepEqual(request?.body, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "dummy",
      namespace: "quiet",
      labels: { cell: "one" },
      annotations: { "podseidon.kubewharf.io/update-trigger-time": "1970-01-01T00:00:01.000000Z", note: "mine" },
    },
    spec: { schedulerName: "do-not-schedule", containers: [{ name: "main", image: ":" }] },
  });
});

test("the dummy pod has a path of its own, and a touch is an annotation with its time", () => {
  assert.equal(dummyPodPath(pod), "/api/v1/namespaces/quiet/pods/dummy");
  assert.deepEqual(touchOf(time), { "podseidon.kubewharf.io/update-trigger-time": "1970-01-01T00:00:01.000000Z" });
});

test("paths of the core group and of others, of all namespaces, of one object and of a subresource", () => {
  assert.equal(resourcePath(pods), "/api/v1/pods");
  assert.equal(resourcePath(pods, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/pods/b");
  assert.equal(
    resourcePath(podProtectors, { namespace: "a", name: "b", subresource: "status" }),
    "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/a/podprotectors/b/status",
  );
});

test("a name from outside cannot leave its place in the path", () => {
  assert.equal(resourcePath(pods, { namespace: "a/b", name: "../c?d" }), "/api/v1/namespaces/a%2Fb/pods/..%2Fc%3Fd");
});

test("a KubeError is recognised by its kind, and nothing else is one", () => {
  const error = new KubeError("conflict", "somebody was faster", { code: 409 });
  assert.equal(isKubeError(error), true);
  assert.equal(isKubeError(error, "notFound", "conflict"), true);
  assert.equal(isKubeError(error, "notFound"), false);
  assert.equal(isKubeError(new Error("conflict"), "conflict"), false);
});

test("what is caught is a KubeError, or a mistake that goes on as it is", () => {
  const error = new KubeError("conflict", "somebody was faster");
  assert.equal(asKubeError(error), error);
  const mistake = new TypeError("undefined is not a function");
  assert.throws(() => asKubeError(mistake), mistake);
});

test("a metric's label is the kind of a KubeError, and Unknown for anything else", () => {
  assert.equal(errorLabel(new KubeError("conflict", "somebody was faster")), "conflict");
  assert.equal(errorLabel(new TypeError("undefined is not a function")), "Unknown");
  assert.equal(errorLabel(undefined), "Unknown");
});
