import assert from "node:assert/strict";
import { test } from "node:test";
import { readWorker, type WorkerQuestion } from "../../../../../src/commands/check/readers/worker.ts";
import { gateWarning, releaseWarning } from "../../../../../src/api/gate-warning.ts";
import { type KubeRequest } from "../../../../../src/kube/kube-client.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const { signal } = new AbortController();
const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });
const service = { namespace: "podseidon-system", name: "podseidon-webhook", path: "/a" };
const configuration = {
  metadata: { name: "podseidon", labels: { "app.kubernetes.io/name": "podseidon" } },
  webhooks: [{ name: "x", clientConfig: { service }, rules: [{ operations: ["DELETE"], resources: ["pods"] }] }],
};

function aggregator(name: string, ...args: readonly string[]): object {
  const spec = { serviceAccountName: "podseidon-aggregator", containers: [{ args }] };
  const labels = { "app.kubernetes.io/component": "aggregator" };
  return { metadata: { name, labels }, spec: { template: { spec } } };
}

/** What is asked, and the facts that are read. */
async function read(deployments: readonly object[], more: Partial<WorkerQuestion> = {}) {
  const client = createScriptedKubeClient();
  client.onRequest = ({ path, method, onWarnings }: KubeRequest) => {
    if (path.endsWith("/validatingwebhookconfigurations")) return list(configuration);
    if (path.endsWith("/deployments")) return list(...deployments);
    if (path.endsWith("/namespaces/kube-system")) return { metadata: { uid: "u" } };
    if (path.endsWith("/serviceaccounts")) return list({ metadata: { name: "podseidon-aggregator" } });
    if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: false } };
    if (method === "DELETE") onWarnings?.([gateWarning("a"), releaseWarning("0.1.0 (abc)")]);
    return {};
  };
  const question = {
    name: "a",
    isNamed: true,
    client,
    systemNamespace: "podseidon-system",
    dummyPod: undefined,
    ...more,
  };
  const clock = createVirtualClock();
  const facts = await readWorker(question, { clock, signal });
  assert.equal(clock.pendingTimers, 0);
  const deleted = client.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  assert.ok(client.requests.every(({ method, query }) => method !== "DELETE" || query?.["dryRun"] === "All"));
  return { facts, deleted };
}

test("a worker is asked by a dry-run deletion of the dummy pod that its aggregators' flags name", async () => {
  const flags = ["--update-trigger-dummy-pod-namespace=quiet", "--update-trigger-dummy-pod-name=dummy"];
  const { facts, deleted } = await read([aggregator("one", ...flags), aggregator("two", ...flags)]);
  assert.deepEqual(deleted, ["/api/v1/namespaces/quiet/pods/dummy"]);
  assert.deepEqual([...facts.gates], [["quiet/dummy", { kind: "other-cell", cell: "a" }]]);
  assert.deepEqual(facts.webhookReleases, ["0.1.0 (abc)"]);
  assert.deepEqual(facts.clusterUID, { ok: true, value: "u" });
});

test("without flags the dummy pod is that of the manifests, or the one that a person names", async () => {
  const usual = "/api/v1/namespaces/podseidon-update-trigger/pods/podseidon-update-trigger";
  assert.deepEqual((await read([])).deleted, [usual]);
  const dummyPod = { namespace: "n", name: "p" };
  assert.deepEqual((await read([aggregator("one")], { dummyPod })).deleted, ["/api/v1/namespaces/n/pods/p"]);
});

test("a Service is not called from here, which is said", async () => {
  const { facts } = await read([]);
  const url = "https://podseidon-webhook.podseidon-system.svc/a";
  assert.deepEqual(
    [...facts.served],
    [[url, { ok: false, why: "a Service cannot be reached from here", isPrivate: true }]],
  );
});

test("rights are those of the accounts that are there, as their flags need them", async () => {
  const { facts } = await read([
    aggregator(
      "blue",
      "--aggregator-leader-elector-name=podseidon-aggregator-blue",
      "--worker-kube-target-namespace=team",
    ),
  ]);
  assert.ok(facts.rights.ok);
  const rights = facts.rights.value.map(({ account, right }) => `${account} ${right}`);
  assert.ok(rights.includes("podseidon-aggregator list pods in team"), rights.join("\n"));
  assert.ok(
    rights.includes(
      "podseidon-aggregator update leases.coordination.k8s.io podseidon-aggregator-blue in podseidon-system",
    ),
  );
  assert.ok(!rights.some((right) => right.startsWith("podseidon-webhook")));
});
