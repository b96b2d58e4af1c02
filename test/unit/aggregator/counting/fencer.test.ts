import assert from "node:assert/strict";
import { test } from "node:test";
import { type PodRecord, readPodRecord } from "../../../../src/api/pod.ts";
import { Fencer } from "../../../../src/aggregator/counting/fencer.ts";
import { FenceRegistry } from "../../../../src/accounting/settle/fence-registry.ts";
import { KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { longAgo } from "../../../../src/util/clock.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";

function podNamed(name: string): PodRecord {
  return readPodRecord({ metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "5" } })!;
}

function bench(waitingMax?: number) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  const registry = new FenceRegistry(10_000, 75_000);
  const metrics = createCountingMetrics();
  const answered: string[] = [];
  client.onRequest = ({ body }) => {
    const { annotations } = (body as { metadata: { annotations: object } }).metadata;
    return { metadata: { resourceVersion: "9", annotations: { others: "x", ...annotations } } };
  };
  const fencer = new Fencer({
    client,
    registry,
    settleWindowMs: 75_000,
    waitingMax,
    clock,
    rng: createSeededRng(1),
    logger: silentLogger,
    fences: metrics.counter("fences", ""),
    onAnswered: (podUID) => void answered.push(podUID),
  });
  const result = (name: string): number => metrics.value("fences", { result: name });
  return { clock, client, registry, fencer, answered, result, leadership: new AbortController() };
}

test("a fence is a merge patch of pods/status with the UID and one annotation", async () => {
  const { clock, client, registry, fencer, answered, leadership, result } = bench();
  assert.equal(fencer.request(podNamed("a"), leadership.signal), true);
  await clock.advance(0);
  const [request] = client.requests;
  assert.ok(request !== undefined);
  assert.equal(request.method, "PATCH");
  assert.equal(request.path, "/api/v1/namespaces/default/pods/a/status");
  assert.equal(request.contentType, "application/merge-patch+json");
  const { metadata } = request.body as { metadata: { uid: string; annotations: Record<string, string> } };
  assert.equal(metadata.uid, "uid-a");
  assert.match(metadata.annotations["podseidon.kubewharf.io/fence"] ?? "", /^[0-9a-f]{16}$/);
  assert.deepEqual(Object.keys(request.body as object), ["metadata"]);
  assert.deepEqual(registry.fenceOf("uid-a"), { sentAtMs: 0, version: "9" });
  assert.deepEqual(answered, ["uid-a"]);
  assert.equal(result("sent"), 1);
});

test("no more fences wait than are allowed to", () => {
  const { fencer, leadership } = bench(2);
  // The first is sent at once, and waits no more.
  const accepted = ["a", "b", "c", "d", "c"].map((name) => fencer.request(podNamed(name), leadership.signal));
  assert.deepEqual(accepted, [true, true, true, false, true]);
});

test("each patch carries a value that none has had", async () => {
  const { clock, client, fencer, leadership } = bench();
  for (let round = 0; round < 50; round++) {
    fencer.request(podNamed("a"), leadership.signal);
    await clock.advance(1000);
  }
  const values = client.requests.map(({ body }) => JSON.stringify(body));
  assert.equal(new Set(values).size, 50);
});

test("50 fences are sent a second, each pod once, and the rest waits without blocking", async () => {
  const { clock, client, fencer, leadership } = bench();
  client.onRequest = () => new Promise(() => {});
  for (let index = 0; index < 200; index++) fencer.request(podNamed(`p${index}`), leadership.signal);
  fencer.request(podNamed("p150"), leadership.signal);
  await clock.advance(999);
  assert.equal(client.requests.length, 50);
  await clock.advance(4000);
  assert.equal(client.requests.length, 200);
  assert.equal(clock.pendingTimers, 0);
});

test("more than 1,000 waiting pods are refused, so that the caller asks again", async () => {
  const { fencer, leadership } = bench();
  let accepted = 0;
  for (let index = 0; index < 1500; index++) {
    if (fencer.request(podNamed(`p${index}`), leadership.signal)) accepted += 1;
  }
  assert.ok(accepted >= 1000 && accepted <= 1001, `${accepted}`);
  leadership.abort();
});

test("every answer ends the flight of a fence: lost, replaced, forbidden and nonsense prove nothing", async () => {
  const cases: readonly [KubeErrorKind | "nonsense", string, boolean][] = [
    ["network", "failed", false],
    ["serverError", "failed", false],
    ["nonsense", "failed", false],
    ["notFound", "replaced", false],
    ["invalid", "replaced", true],
    ["conflict", "replaced", false],
    ["forbidden", "forbidden", true],
  ];
  for (const [kind, counted, forbidden] of cases) {
    const { clock, client, registry, fencer, answered, leadership, result } = bench();
    client.onRequest = () => {
      if (kind === "nonsense") return { metadata: {} };
      throw new KubeError(kind, kind);
    };
    fencer.request(podNamed("a"), leadership.signal);
    await clock.advance(100);
    assert.equal(result(counted), 1, kind);
    assert.equal(registry.fenceOf("uid-a"), undefined, kind);
    assert.equal(registry.isForbidden("uid-a"), forbidden, kind);
    assert.deepEqual(answered, ["uid-a"], kind);
    if (!forbidden) assert.equal(registry.nextSendMs("uid-a", "usual"), 10_000, kind);
  }
});

test("an answer about the patch is a refusal; what a cluster in trouble says is not", async () => {
  const denied = 'admission webhook "fences.example.com" denied the request: not now';
  const broken = 'Internal error occurred: failed calling webhook "fences.example.com": connection refused';
  const cases: readonly [KubeError, boolean][] = [
    [new KubeError("unauthorized", "", { code: 401 }), true],
    [new KubeError("notFound", "", { code: 404 }), true],
    [new KubeError("conflict", "", { code: 409 }), true],
    [new KubeError("serverError", "", { code: 500, status: { message: broken } }), true],
    [new KubeError("serverError", "", { code: 503, status: { message: denied } }), true],
    [new KubeError("tooManyRequests", "", { code: 429, status: { message: denied } }), true],
    [new KubeError("tooManyRequests", "", { code: 429 }), false],
    [new KubeError("serverError", "", { code: 500, status: { message: "etcdserver: request timed out" } }), false],
    [new KubeError("serverError", broken, { code: 502 }), false],
    [new KubeError("timeout", broken), false],
    [new KubeError("network", "reset"), false],
  ];
  for (const [error, isRefused] of cases) {
    const { clock, client, registry, fencer, leadership } = bench();
    client.onRequest = () => {
      throw error;
    };
    fencer.request(podNamed("a"), leadership.signal);
    await clock.advance(100);
    const failing = { sinceMs: 0, refusedSinceMs: isRefused ? 0 : undefined, lastSentAtMs: 0 };
    assert.deepEqual(registry.failingOf("uid-a"), failing, `${error.code} ${error.status?.message}`);
  }
});

test("a fence that was answered is a write of ours, for the fences of other pods", async () => {
  const { clock, client, registry, fencer, leadership } = bench();
  const answer = client.onRequest;
  client.onRequest = async (request) => {
    await new Promise<void>((resolve) => void clock.setTimer(300, resolve));
    return answer(request);
  };
  await clock.advance(1000);
  fencer.request(podNamed("a"), leadership.signal);
  await clock.advance(1000);
  assert.equal(registry.ownWriteAfter(longAgo), 1300);
  assert.equal(registry.failingOf("uid-a"), undefined);
});

test("a fence that ends with the leadership has not failed", async () => {
  const { clock, client, registry, fencer, leadership } = bench();
  client.onRequest = () => {
    leadership.abort();
    throw new KubeError("aborted", "aborted");
  };
  fencer.request(podNamed("a"), leadership.signal);
  await clock.advance(100);
  assert.equal(registry.failingOf("uid-a"), undefined);
  assert.equal(registry.nextSendMs("uid-a", "usual"), 10_000);
});

test("a patch whose annotation is stripped moves nothing and proves nothing, and the pod uses the window", async () => {
  for (const annotations of [undefined, {}, { "podseidon.kubewharf.io/fence": "an older value" }]) {
    const { clock, client, registry, fencer, answered, leadership, result } = bench();
    client.onRequest = () => ({ metadata: { resourceVersion: "5", annotations } });
    fencer.request(podNamed("a"), leadership.signal);
    await clock.advance(100);
    assert.equal(registry.fenceOf("uid-a"), undefined);
    assert.equal(registry.isForbidden("uid-a"), true);
    assert.equal(result("stripped"), 1);
    assert.deepEqual(answered, ["uid-a"]);
  }
});

test("when leadership ends nothing more is sent, and the next term begins with an empty queue", async () => {
  const { clock, client, fencer, leadership } = bench();
  for (const name of ["a", "b", "c"]) fencer.request(podNamed(name), leadership.signal);
  await clock.advance(0);
  leadership.abort();
  await clock.advance(0);
  assert.equal(clock.pendingTimers, 0);
  assert.equal(fencer.request(podNamed("b"), leadership.signal), false);
  const next = new AbortController();
  assert.equal(fencer.request(podNamed("b"), next.signal), true);
  await clock.advance(1000);
  assert.deepEqual(
    client.requests.map(({ path }) => path.split("/").at(-2)),
    ["a", "b"],
  );
});

test("fences of long ago are forgotten, and it is looked for them once in a settle window", async () => {
  const { clock, registry, fencer, leadership } = bench();
  fencer.request(podNamed("a"), leadership.signal);
  await clock.advance(4 * 75_000);
  fencer.prune();
  assert.equal(registry.size, 1, "the longest wait is not over yet");
  await clock.advance(75_000 - 1);
  fencer.prune();
  assert.equal(registry.size, 1, "it has just been looked");
  await clock.advance(1);
  fencer.prune();
  assert.equal(registry.size, 0);
});
