import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "../../../../src/api/v1alpha1/names.ts";
import {
  causeOfLostKind,
  EndingNamespaces,
  isLostKind,
  isOfLostKind,
  NamespacesAndKinds,
} from "../../../../src/generator/mass-changes/namespaces-and-kinds.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { advancedStatefulSets } from "../../../../src/sources/advanced-stateful-set.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type OwnerKind, type SourceKind } from "../../../../src/sources/source.ts";
import { statefulSets } from "../../../../src/sources/stateful-set.ts";
import { type ObjectKey, objectKey } from "../../../../src/api/object-key.ts";

const { signal } = new AbortController();
const owner = { apiVersion: "example.com/v1", kind: "App" };

/** A core that gives these answers, by path. */
function bench(answers: Record<string, unknown>) {
  const clock = createVirtualClock();
  const logger = createRecordingLogger();
  const metrics = createCountingMetrics();
  const asked: string[] = [];
  const core = {
    async request({ path }: { path: string }) {
      asked.push(path);
      const answer = answers[path] ?? new KubeError("notFound", "no such thing");
      if (answer instanceof KubeError) throw answer;
      return answer;
    },
  };
  const failures = metrics.counter("failures", "", ["error"]);
  const questions = new NamespacesAndKinds({ core: core as never, clock, logger, failures });
  return { clock, logger, metrics, asked, answers, questions };
}

test("a namespace is exempt by its label and terminating by its deletionTimestamp, and read once a burst", async () => {
  const { questions, asked, clock } = bench({
    "/api/v1/namespaces/a": { metadata: { uid: "1", labels: { [labels.massChanges]: "allow" } } },
    "/api/v1/namespaces/b": { metadata: { uid: "2", deletionTimestamp: "2026-01-01T00:00:00Z" } },
  });
  assert.deepEqual(await questions.namespace("a", signal), { uid: "1", isExempt: true, isTerminating: false });
  assert.deepEqual(await questions.namespace("b", signal), { uid: "2", isExempt: false, isTerminating: true });
  assert.equal(await questions.namespace("c", signal), undefined);
  await questions.namespace("a", signal);
  assert.equal(asked.length, 3);
  await clock.advance(2_000);
  await questions.namespace("a", signal);
  assert.equal(asked.length, 4);
});

test("a kind is lost when its group or itself is not served, or its CRD is being deleted", async () => {
  const group = "/apis/example.com/v1";
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/apps.example.com";
  const served = {
    resources: [
      { kind: "App", name: "apps/status" },
      { kind: "App", name: "apps" },
    ],
  };
  const isLost = async (answers: Record<string, unknown>) => bench(answers).questions.isLost(owner, signal);
  assert.equal(await isLost({}), true);
  assert.equal(await isLost({ [group]: { resources: [{ kind: "Other", name: "others" }] } }), true);
  assert.equal(await isLost({ [group]: served, [crd]: { metadata: {} } }), false);
  assert.equal(await isLost({ [group]: served, [crd]: { metadata: { deletionTimestamp: "x" } } }), true);
  assert.equal(await isLost({ [group]: served }), false, "of another API server");
  const apps = { resources: [{ kind: "ReplicaSet", name: "replicasets" }] };
  const builtIn = bench({ "/apis/apps/v1": apps });
  assert.equal(await builtIn.questions.isLost({ apiVersion: "apps/v1", kind: "ReplicaSet" }, signal), false);
});

test("what is forbidden is not known, and is said once", async () => {
  const forbidden = new KubeError("forbidden", "no");
  const { questions, logger, metrics } = bench({
    "/api/v1/namespaces/a": forbidden,
    "/api/v1/namespaces/b": forbidden,
    "/apis/example.com/v1": forbidden,
  });
  assert.equal(await questions.namespace("a", signal), undefined);
  assert.equal(await questions.namespace("b", signal), undefined);
  assert.equal(await questions.isLost(owner, signal), false);
  assert.equal(logger.entries.length, 2);
  assert.equal(metrics.value("failures", { error: "forbidden" }), 3);
});

test("kinds of an aggregated API server that is down are not known", async () => {
  const { questions } = bench({ "/apis/example.com/v1": new KubeError("serverError", "down") });
  assert.equal(await questions.isLost(owner, signal), false);
});

test("without an answer the question fails, and is asked again", async () => {
  const path = "/api/v1/namespaces/a";
  const { questions, answers } = bench({ [path]: new KubeError("timeout", "slow") });
  await assert.rejects(questions.namespace("a", signal), /slow/);
  answers[path] = { metadata: { uid: "1" } };
  assert.equal((await questions.namespace("a", signal))?.uid, "1");
});

function sourceOf(kind: SourceKind, ownerReferences: readonly object[] = []) {
  const metadata = { name: "db", namespace: "shop", uid: "u", resourceVersion: "1", ownerReferences };
  return readSource(kind, { metadata, spec: { selector: { matchLabels: { app: "db" } } } })!;
}

/** An API server that has lost these kinds; `asked` are those that it was asked for. */
function losing(...lost: readonly string[]) {
  const asked: string[] = [];
  const isLost = async ({ apiVersion, kind }: OwnerKind) => {
    asked.push(`${apiVersion} ${kind}`);
    return lost.includes(`${apiVersion} ${kind}`);
  };
  return { asked, isLost };
}

const own = "apps.kruise.io/v1beta1 StatefulSet";
const owners = "example.com/v1 App";
const owned = [{ apiVersion: "example.com/v1", kind: "App" }];

test("a kind that is being lost is a cause of its own, which names it as kubectl does", async () => {
  const cause = await causeOfLostKind(sourceOf(advancedStatefulSets), losing(own), signal);
  assert.deepEqual(cause, { text: "kind/StatefulSet.apps.kruise.io", isHalfTooMany: true });
  assert.ok(isLostKind("kind/StatefulSet.apps.kruise.io") && !isLostKind("owner/App.example.com"));
  assert.equal(await causeOfLostKind(sourceOf(advancedStatefulSets), losing(), signal), undefined);
});

test("kinds that are built in cannot be lost, and are not asked for", async () => {
  const core = losing("apps/v1 StatefulSet");
  assert.equal(await causeOfLostKind(sourceOf(statefulSets), core, signal), undefined);
  assert.equal(await isOfLostKind(sourceOf(statefulSets), core, signal), false);
  assert.deepEqual(core.asked, []);
});

test("the source's own kind counts as much as its owner's", async () => {
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets), losing(own), signal), true);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets), losing(owners), signal), false);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets, owned), losing(owners), signal), true);
  assert.equal(await isOfLostKind(sourceOf(statefulSets, owned), losing(owners), signal), true);
  assert.equal(await isOfLostKind(sourceOf(advancedStatefulSets, owned), losing(), signal), false);
});

test("without an answer there is no answer", async () => {
  const isLost = async () => Promise.reject(new Error("slow"));
  await assert.rejects(isOfLostKind(sourceOf(advancedStatefulSets), { isLost }, signal), /slow/);
});

/** `ending`: the namespaces that are being deleted. */
function endingIn(...ending: readonly string[]) {
  const asked: string[] = [];
  const state = { isDown: false };
  const endings = new EndingNamespaces({
    async namespace(name) {
      asked.push(name);
      if (state.isDown) throw new KubeError("serverError", "503");
      return { uid: "u", isExempt: false, isTerminating: ending.includes(name) };
    },
  });
  return { endings, asked, state };
}

function held(namespace: string, more: object = {}): [ObjectKey, never] {
  const entry = { source: { namespace }, change: { to: undefined }, state: "held", ...more };
  return [objectKey(namespace, "web"), entry as never];
}

test("held deletions of a terminating namespace are found, and nothing else is asked about", async () => {
  const { endings, asked } = endingIn("a", "c", "d", "e");
  const changes = new Map([
    held("a"),
    held("b"),
    held("c", { state: "passed" }),
    held("d", { change: { to: 0 } }),
    held("e", { terminatingNamespace: "uid" }),
  ]);
  assert.deepEqual(await endings.among(changes, signal), ["a/web"]);
  assert.deepEqual(asked, ["a", "b"]);
});

test("many namespaces take turns, and one that gives no answer is asked again", async () => {
  const { endings, asked, state } = endingIn("n24");
  const changes = new Map(Array.from({ length: 25 }, (_, index) => held(`n${index}`)));
  state.isDown = true;
  const found: (readonly ObjectKey[])[] = [];
  for (let round = 0; round < 3; round++) found.push(await endings.among(changes, signal));
  assert.equal(new Set(asked).size, 25);
  assert.equal(asked.length, 25);
  state.isDown = false;
  for (let round = 0; round < 3; round++) found.push(await endings.among(changes, signal));
  assert.deepEqual(found, [[], [], [], [], [], ["n24/web"]]);
});
