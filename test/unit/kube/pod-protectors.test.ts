import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError, type KubeErrorKind } from "../../../src/kube/kube-client.ts";
import {
  presentOrThrow,
  readProtectorLive,
  swapStatus,
  swapStatusAndCheck,
  createIndexErrorCounter,
  createPrunedCounter,
  readDefinition,
} from "../../../src/kube/pod-protectors.ts";
import { storedProtector } from "../aggregator/protectors.ts";
import { createScriptedKubeClient, type ScriptedKubeClient } from "./scripted-kube-client.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { readProtector } from "../../../src/kube/resources.ts";

const base = storedProtector(10);
const at = base.protector.metadata;
const { signal } = new AbortController();
const status = base.protector.status!;

/** PUT answers `put`, GET answers `get`; errors are thrown. */
function scripted(put: unknown, get?: unknown): ScriptedKubeClient {
  const client = createScriptedKubeClient();
  client.onRequest = ({ method }) => {
    const answer = method === "PUT" ? put : get;
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return client;
}

const refusals: readonly KubeErrorKind[] = [
  "tooManyRequests",
  "invalid",
  "unauthorized",
  "forbidden",
  "alreadyExists",
  "gone",
];
const losses: readonly KubeErrorKind[] = ["network", "timeout", "serverError", "malformed", "aborted"];

test("a swap is one PUT of the status at the version of its base, and returns what was stored and sent", async () => {
  const client = scripted(storedProtector(11).protector);
  const swap = await swapStatus(client, base, status, { signal, timeoutMs: 4_000 });
  assert.equal(swap.kind === "written" && swap.answer.ok && swap.answer.stored.resourceVersion, "11");
  assert.equal(client.requests.length, 1);
  const [request] = client.requests;
  assert.equal(
    `${request?.method} ${request?.path}`,
    "PUT /apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors/web/status",
  );
  assert.deepEqual(request?.body, { ...base.protector, status });
  assert.equal(swap.body, request?.body);
  assert.equal(request?.timeoutMs, 4_000);
  assert.equal(request?.signal, signal);
});

test("an accepted swap whose answer is invalid is written, and its new state is unknown", async () => {
  const swap = await swapStatus(scripted({ kind: "Nonsense" }), base, status, {});
  assert.equal(swap.kind, "written");
  assert.equal(swap.kind === "written" && swap.answer.ok, false);
});

test("every failure of a swap says whether it was stored, with the error and no other request", async () => {
  const outcomes: Record<string, readonly KubeErrorKind[]> = {
    conflict: ["conflict"],
    gone: ["notFound"],
    lost: losses,
    refused: refusals,
  };
  for (const [outcome, kinds] of Object.entries(outcomes)) {
    for (const kind of kinds) {
      const error = new KubeError(kind, kind, { retryAfterMs: 1_000 });
      const client = scripted(error);
      const swap = await swapStatus(client, base, status, {});
      assert.equal(swap.kind, outcome, kind);
      assert.equal(swap.kind !== "written" && swap.error, error, kind);
      assert.equal(client.requests.length, 1, kind);
    }
  }
});

test("a mistake of the program is no outcome", async () => {
  const mistake = new TypeError("undefined is not a function");
  await assert.rejects(swapStatus(scripted(mistake), base, status, {}), mistake);
  await assert.rejects(swapStatusAndCheck(scripted(mistake), base, status, {}), mistake);
  await assert.rejects(readProtectorLive(scripted(undefined, mistake), at, {}), mistake);
});

test("a checked swap that was accepted needs no read", async () => {
  const client = scripted(storedProtector(11).protector);
  const swap = await swapStatusAndCheck(client, base, status, { signal });
  assert.equal(swap.kind === "written" && swap.stored.resourceVersion, "11");
  assert.equal(client.requests.length, 1);
});

test("a conflict comes with the live object", async () => {
  const error = new KubeError("conflict", "no");
  const swap = await swapStatusAndCheck(scripted(error, storedProtector(12).protector), base, status, { signal });
  assert.equal(swap.kind === "conflict" && swap.live?.resourceVersion, "12");
  assert.equal(swap.kind === "conflict" && swap.error, error);
});

test("a refusal with 409 of an unchanged object is a failure, or it would be retried at once forever", async () => {
  const error = new KubeError("conflict", "an admission plug-in says 409");
  const swap = await swapStatusAndCheck(scripted(error, storedProtector(10).protector), base, status, { signal });
  assert.deepEqual(swap, { kind: "failed", error });
});

test("a lost answer after which the object has moved is a conflict, without a change it is a failure", async () => {
  for (const kind of losses) {
    const error = new KubeError(kind, kind);
    const moved = await swapStatusAndCheck(scripted(error, storedProtector(11).protector), base, status, { signal });
    assert.equal(moved.kind, "conflict", kind);
    const unmoved = await swapStatusAndCheck(scripted(error, storedProtector(10).protector), base, status, { signal });
    assert.deepEqual(unmoved, { kind: "failed", error }, kind);
  }
});

test("an invalid answer to an accepted swap counts as lost", async () => {
  const moved = await swapStatusAndCheck(scripted({}, storedProtector(11).protector), base, status, { signal });
  assert.equal(moved.kind === "conflict" && moved.live?.resourceVersion, "11");
  const invalid = await swapStatusAndCheck(scripted({ kind: "Nonsense" }, {}), base, status, { signal });
  assert.equal(invalid.kind === "failed" && invalid.error.kind, "malformed");
});

test("an object that is gone, or replaced at whatever version, is no failure", async () => {
  const notFound = new KubeError("notFound", "no");
  const gone = await swapStatusAndCheck(scripted(notFound, notFound), base, status, { signal });
  assert.deepEqual(gone, { kind: "conflict", live: undefined, error: notFound });
  const other = storedProtector(10, { uid: "another" });
  const lost = new KubeError("network", "no");
  const replaced = await swapStatusAndCheck(scripted(lost, other.protector), base, status, { signal });
  assert.equal(replaced.kind === "conflict" && replaced.live?.uid, "another");
});

test("a refused swap fails without a read", async () => {
  for (const kind of refusals) {
    const client = scripted(new KubeError(kind, kind));
    assert.equal((await swapStatusAndCheck(client, base, status, { signal })).kind, "failed", kind);
    assert.equal(client.requests.length, 1, kind);
  }
});

test("a swap whose outcome cannot be read is a failure", async () => {
  const error = new KubeError("network", "still down");
  const client = scripted(new KubeError("network", "down"), error);
  assert.deepEqual(await swapStatusAndCheck(client, base, status, { signal }), { kind: "failed", error });
});

test("a live read asks for no version, and distinguishes gone, invalid and failed", async () => {
  const client = scripted(undefined, storedProtector(12).protector);
  const read = await readProtectorLive(client, at, { signal, timeoutMs: 1_000 });
  assert.equal(read.kind === "read" && read.stored.resourceVersion, "12");
  const [request] = client.requests;
  assert.equal(request?.query, undefined);
  assert.equal(request?.timeoutMs, 1_000);
  const errors = { gone: new KubeError("notFound", "no"), failed: new KubeError("network", "no") };
  assert.deepEqual(await readProtectorLive(scripted(undefined, errors.gone), at, {}), {
    kind: "gone",
    error: errors.gone,
  });
  assert.deepEqual(await readProtectorLive(scripted(undefined, errors.failed), at, {}), {
    kind: "failed",
    error: errors.failed,
  });
  const invalid = await readProtectorLive(scripted(undefined, {}), at, {});
  assert.equal(invalid.kind, "invalid");
});

test("of a live read only a present or a gone object is no error", async () => {
  const stored = storedProtector(12);
  const error = new KubeError("network", "no");
  assert.equal(presentOrThrow({ kind: "read", managedFields: undefined, stored }), stored);
  assert.equal(presentOrThrow({ kind: "gone", error }), undefined);
  assert.throws(() => presentOrThrow({ kind: "failed", error }), error);
  const live = await readProtectorLive(scripted(undefined, {}), at, {});
  assert.throws(() => presentOrThrow(live), /PodProtector default\/web is invalid: metadata/);
});

test("two roles of one process count into one metric with one help text", async () => {
  const registry = createMetrics({ byNamespace: false, byUser: false, ofProcess: false });
  createIndexErrorCounter(registry)();
  createIndexErrorCounter(registry)();
  createPrunedCounter(registry, "webhook")("core");
  createPrunedCounter(registry, "aggregator")("core");
  createPrunedCounter(registry, "webhook")("core-2");
  const { text } = await registry.expose();
  assert.deepEqual(
    text.split("\n").filter((line) => line !== "" && !line.startsWith("# TYPE")),
    [
      "# HELP ppr_index_error Invalid states of PodProtectors received from the core",
      'ppr_index_error{error="Invalid"} 2',
      "# HELP extension_fields_pruned_total Accepted status writes whose extension fields the CRD of the core dropped",
      'extension_fields_pruned_total{role="webhook",core="core"} 1',
      'extension_fields_pruned_total{role="aggregator",core="core"} 1',
      'extension_fields_pruned_total{role="webhook",core="core-2"} 1',
    ],
  );
});

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

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podprotectors.podseidon.kubewharf.io";

async function readFrom(answer: unknown) {
  const client = createScriptedKubeClient();
  client.onRequest = () => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const read = await readDefinition(client, {});
  assert.equal(client.requests[0]?.path, path);
  return read;
}

test("the CRD of PodProtectors is read with its UID, and whether it is being deleted", async () => {
  assert.deepEqual(await readFrom({ metadata: { uid: "u" } }), { kind: "there", uid: "u", isTerminating: false });
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const terminating = await readFrom({ metadata: { uid: "u", deletionTimestamp } });
  assert.deepEqual(terminating, { kind: "there", uid: "u", isTerminating: true });
});

test("a CRD that is gone, one that may not be read, and a failure are told apart", async () => {
  const notFound = new KubeError("notFound", "no", { code: 404, status: { code: 404, reason: "NotFound" } });
  assert.deepEqual(await readFrom(notFound), { kind: "gone" });
  assert.equal((await readFrom(new KubeError("forbidden", "no"))).kind, "forbidden");
  assert.equal((await readFrom(new KubeError("serverError", "no"))).kind, "failed");
  assert.equal((await readFrom("nonsense")).kind, "failed");
});

test("the 404 of a proxy says nothing about the CRD", async () => {
  assert.equal((await readFrom(new KubeError("notFound", "default backend - 404", { code: 404 }))).kind, "failed");
});
