/** Cells that are parts of one cluster (docs/cells.md#parts-of-a-cluster). */
import assert from "node:assert/strict";
import { onlyOne, render } from "../../../manifests/manifest-files.ts";
import { cellStateOf, silenceArgs, waitBeats, waitCellState } from "../../fleet/cell-states.ts";
import { deletePods, type DeletionAttempt } from "../../objects/deletions.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { dryRun } from "../../overlay.ts";
import { createNamespace, createPods, podPath } from "../../objects/pods.ts";
import { startPodseidon } from "../../fleet/process.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { accountUser } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { applyWebhookConfiguration, removeWebhookConfiguration } from "../../objects/webhook-configuration.ts";

const silentAfterMs = 12 * second;
/** Ends a wait for what happens at once, or after a few beats. */
const soonMs = 60 * second;
const podsPerCell = 4;
const floor = 3;

export const namespaceCellCases = e2eCases({
  "cells: two namespaces of one cluster are two cells, counted, guarded and silent each for itself": [
    300 * second,
    twoNamespaces,
  ],
  "cells: the label that is a pod's cell can be added, and neither changed nor removed; the overlays are valid": [
    120 * second,
    keptLabel,
  ],
});

/** The first cell is the fleet's own, with the fleet's namespace; the second one is started beside it. */
async function twoNamespaces(context: CaseContext): Promise<Figures> {
  const [firstCell, secondCell] = ["worker-1", "other-part"] as const;
  const first = context.namespace;
  const second = `${first}-b`;
  const cluster = await context.cluster("worker-1");
  const readingPods = cluster.kubeconfigPath(accountUser("podseidon-webhook"));
  const fleet = await startFleet(context, {
    workers: ["worker-1"],
    aggregatorArgs: namespaceArgs(first),
    dummyPodInside: true,
    webhookArgs: [`--webhook-worker-client-provider.map-configs=${secondCell}=${readingPods}`],
    commonArgs: silenceArgs(silentAfterMs),
  });
  for (const { admin } of new Set([fleet.core, cluster])) await createNamespace(admin, second);
  const aggregator = await startPodseidon({
    ...context,
    name: "aggregator-second",
    role: "aggregator",
    args: [
      `--core-kube-config=${fleet.core.kubeconfigPath(accountUser("podseidon-aggregator", secondCell))}`,
      // The account may not use the Lease that the default flags elect a leader by.
      `--worker-kube-config=${cluster.kubeconfigPath("admin")}`,
      `--cell-lease-namespace=${first}`,
      `--aggregator-cell-id=${secondCell}`,
      ...silenceArgs(silentAfterMs),
      ...namespaceArgs(second),
    ],
  });
  fleet.aggregators.push(aggregator);
  await guard(context, fleet, secondCell, second);
  for (const namespace of [first, second])
    await createPods(cluster.admin, { namespace, count: podsPerCell, namePrefix: "web", labels: webLabels });
  await protect(fleet, second);
  await fleet.protect("web", webLabels, floor, podsPerCell);
  await waitCounted(fleet, second, { [secondCell]: podsPerCell });
  await waitCounted(fleet, first, { [firstCell]: podsPerCell });
  await waitGates(fleet);

  // Each budget lets one go, however many ask at once.
  const names = Array.from({ length: podsPerCell }, (_, index) => `web-${index}`);
  const ask = (namespace: string, how: "delete" | "evict"): Promise<readonly DeletionAttempt[]> =>
    deletePods(cluster.admin, { namespace, names, concurrency: podsPerCell, how, gracePeriodSeconds: 0 });
  const attempts = await Promise.all([ask(first, "delete"), ask(second, "evict")]);
  const admitted = attempts.map((some) => some.filter(({ code }) => code < 300).length);
  assert.deepEqual(admitted, [1, 1], JSON.stringify(attempts));
  assert.ok(attempts.every((some) => some.every(({ code }) => code < 300 || code === 429)));
  await waitCounted(fleet, second, { [secondCell]: floor });

  await aggregator.kill();
  await waitCellState(fleet.webhooks, secondCell, "silent", silentAfterMs + 2 * soonMs);
  const refused = (await ask(second, "delete")).find(({ code }) => code === 429);
  assert.match(String(refused?.message), /nothing has been heard from cell "other-part"/);
  for (const webhook of fleet.webhooks) assert.equal(await cellStateOf(webhook, firstCell), "beating");
  await createPods(cluster.admin, { namespace: first, count: 1, namePrefix: "new", labels: webLabels });
  await waitCounted(fleet, first, { [firstCell]: podsPerCell });
  const [again] = await deletePods(cluster.admin, {
    namespace: first,
    names: ["new-0"],
    concurrency: 1,
    how: "delete",
    gracePeriodSeconds: 0,
  });
  assert.equal(again?.code, 200, String(again?.message));
  return { admitted: 3 };
}

/** Of an aggregator whose cell is this namespace. */
function namespaceArgs(namespace: string): readonly string[] {
  return [
    `--worker-kube-target-namespace=${namespace}`,
    `--core-kube-target-namespace=${namespace}`,
    `--update-trigger-dummy-pod-namespace=${namespace}`,
  ];
}

/** Sends the deletions of one more namespace to the webhooks, as those of this cell. */
async function guard(context: CaseContext, fleet: Fleet, cell: string, namespace: string): Promise<void> {
  const { balancer, caPem, workers } = fleet;
  const worker = present(workers[0]);
  assert.ok(balancer !== undefined);
  const { admin } = worker.cluster;
  const url = `https://127.0.0.1:${balancer.port}/${cell}`;
  await applyWebhookConfiguration(admin, { name: namespace, url, caPem, namespace });
  context.cleanup(() => removeWebhookConfiguration(admin, namespace));
}

const protectorsOf = (namespace: string): string =>
  `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${namespace}/podprotectors`;

async function protect({ core }: Fleet, namespace: string): Promise<void> {
  await core.admin.create(protectorsOf(namespace), {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "web", namespace },
    spec: { minAvailable: floor, minReadySeconds: 0, selector: { matchLabels: webLabels } },
  });
}

/** Resolves when these cells, and no others, have counted as many available pods. */
async function waitCounted({ core }: Fleet, namespace: string, expected: Record<string, number>): Promise<void> {
  await waitFor(`${namespace} is counted as ${JSON.stringify(expected)}`, soonMs, async () => {
    const { status } = await core.admin.get<Awaited<ReturnType<Fleet["protector"]>>>(`${protectorsOf(namespace)}/web`);
    const found = (status?.cells ?? []).map(({ cellID, aggregation }) => [cellID, aggregation?.availableReplicas]);
    return JSON.stringify(Object.fromEntries(found)) === JSON.stringify(expected);
  });
}

/** Resolves when each aggregator has found that deletions of its cell are reviewed as such, and has beaten. */
async function waitGates(fleet: Fleet): Promise<void> {
  for (const aggregator of fleet.aggregators) {
    await waitFor("the gate is ok", 2 * soonMs, async () => {
      return (await aggregator.metrics()).value("aggregator_gate", { state: "ok" }) === 1;
    });
  }
  await waitBeats(fleet, "other-part", 1, soonMs);
}

async function keptLabel(context: CaseContext): Promise<Figures> {
  const { namespace } = context;
  const cluster = await context.cluster("core");
  const { admin } = cluster;
  for (const name of [namespace, "team-a", "team-b"])
    if ((await admin.request("GET", `/api/v1/namespaces/${name}`)).code === 404) await createNamespace(admin, name);
  const valid =
    (await dryRun(context, cluster, "overlays/namespace-cells")) +
    (await dryRun(context, cluster, "overlays/label-cells"));

  const resources = "/apis/admissionregistration.k8s.io/v1";
  const objects = render("overlays/label-cells");
  for (const kind of ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]) {
    const object = onlyOne(objects, kind, "podseidon-cell-label");
    const plural = kind.endsWith("y") ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings";
    const path = `${resources}/${plural}/${object.metadata.name}`;
    await admin.apply(path, object);
    context.cleanup(() => admin.remove(path));
  }
  const key = "podseidon.kubewharf.io/cell";
  await createPods(admin, { namespace, count: 1, namePrefix: "in", labels: { [key]: "blue" } });
  await createPods(admin, { namespace, count: 1, namePrefix: "out", labels: webLabels });
  const patch = async (pod: string, labels: object, query: Readonly<Record<string, string>> = {}) => {
    const options = { body: { metadata: { labels } }, contentType: "application/merge-patch+json", query };
    const { code, body } = await admin.request("PATCH", podPath(namespace, pod), options);
    return { code, text: JSON.stringify(body) };
  };
  // The API server learns of a policy through a watch.
  await waitFor("the policy is in force", soonMs, async () => {
    return (await patch("in-0", { [key]: "green" }, { dryRun: "All" })).code === 403;
  });
  for (const [pod, labels] of [
    ["in-0", { [key]: "green" }],
    ["in-0", { [key]: null }],
    ["in-0/status", { [key]: "green" }],
    ["in-0/status", { [key]: null }],
  ] as const) {
    const { code, text } = await patch(pod, labels);
    assert.equal(code, 403, `${pod} ${JSON.stringify(labels)}: ${text}`);
    assert.match(text, /the label podseidon\.kubewharf\.io\/cell is the cell that the pod is counted in/);
  }
  for (const [pod, labels] of [
    ["in-0", { other: "x" }],
    ["in-0", { [key]: "blue", more: "y" }],
    ["out-0", { other: "x" }],
    ["out-0", { [key]: "green" }],
  ] as const) {
    const { code, text } = await patch(pod, labels);
    assert.equal(code, 200, `${pod} ${JSON.stringify(labels)}: ${text}`);
  }
  assert.equal((await patch("out-0", { [key]: "blue" })).code, 403);
  return { valid };
}
