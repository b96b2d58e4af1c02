import assert from "node:assert/strict";
import { test } from "node:test";
import { labels } from "../../../../src/api/v1alpha1/names.ts";
import { Surroundings } from "../../../../src/generator/mass-changes/surroundings.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";

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
  const surroundings = new Surroundings({ core: core as never, clock, logger, failures });
  return { clock, logger, metrics, asked, answers, surroundings };
}

test("a namespace is exempt by its label and terminating by its deletionTimestamp, and read once a burst", async () => {
  const { surroundings, asked, clock } = bench({
    "/api/v1/namespaces/a": { metadata: { uid: "1", labels: { [labels.massChanges]: "allow" } } },
    "/api/v1/namespaces/b": { metadata: { uid: "2", deletionTimestamp: "2026-01-01T00:00:00Z" } },
  });
  assert.deepEqual(await surroundings.namespace("a", signal), { uid: "1", isExempt: true, isTerminating: false });
  assert.deepEqual(await surroundings.namespace("b", signal), { uid: "2", isExempt: false, isTerminating: true });
  assert.equal(await surroundings.namespace("c", signal), undefined);
  await surroundings.namespace("a", signal);
  assert.equal(asked.length, 3);
  await clock.advance(2_000);
  await surroundings.namespace("a", signal);
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
  const isLost = async (answers: Record<string, unknown>) => bench(answers).surroundings.isLost(owner, signal);
  assert.equal(await isLost({}), true);
  assert.equal(await isLost({ [group]: { resources: [{ kind: "Other", name: "others" }] } }), true);
  assert.equal(await isLost({ [group]: served, [crd]: { metadata: {} } }), false);
  assert.equal(await isLost({ [group]: served, [crd]: { metadata: { deletionTimestamp: "x" } } }), true);
  assert.equal(await isLost({ [group]: served }), false, "of another API server");
  const apps = { resources: [{ kind: "ReplicaSet", name: "replicasets" }] };
  const builtIn = bench({ "/apis/apps/v1": apps });
  assert.equal(await builtIn.surroundings.isLost({ apiVersion: "apps/v1", kind: "ReplicaSet" }, signal), false);
});

test("what is forbidden is not known, and is said once", async () => {
  const forbidden = new KubeError("forbidden", "no");
  const { surroundings, logger, metrics } = bench({
    "/api/v1/namespaces/a": forbidden,
    "/api/v1/namespaces/b": forbidden,
    "/apis/example.com/v1": forbidden,
  });
  assert.equal(await surroundings.namespace("a", signal), undefined);
  assert.equal(await surroundings.namespace("b", signal), undefined);
  assert.equal(await surroundings.isLost(owner, signal), false);
  assert.equal(logger.entries.length, 2);
  assert.equal(metrics.value("failures", { error: "forbidden" }), 3);
});

test("kinds of an aggregated API server that is down are not known", async () => {
  const { surroundings } = bench({ "/apis/example.com/v1": new KubeError("serverError", "down") });
  assert.equal(await surroundings.isLost(owner, signal), false);
});

test("without an answer the question fails, and is asked again", async () => {
  const path = "/api/v1/namespaces/a";
  const { surroundings, answers } = bench({ [path]: new KubeError("timeout", "slow") });
  await assert.rejects(surroundings.namespace("a", signal), /slow/);
  answers[path] = { metadata: { uid: "1" } };
  assert.equal((await surroundings.namespace("a", signal))?.uid, "1");
});
