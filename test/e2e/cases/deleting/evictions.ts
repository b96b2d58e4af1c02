/** Evictions as people meet them: `kubectl drain` at the floor, and questions that must not change anything. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { AvailableWatch } from "../../loads/available.ts";
import { deletePods } from "../../objects/deletions.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { kubectl, type KubectlResult } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

const threePods = {
  workers: ["worker-1"],
  webhookReplicas: 1,
  generator: false,
  podsPerCell: 3,
  floor: 2,
} as const;
/** kubectl drain tries a refused eviction again after so long. */
const retryMs = 5 * second;

export const evictionCases = e2eCases({
  "eviction: kubectl drain over a full budget waits at the floor, and finishes when replacements are Ready": [
    150 * second,
    drained,
  ],
  "eviction: dry runs, and evictions of a former pod, are judged and write nothing": [90 * second, dryRun],
  "eviction: one that names the version and is not carried out gives its quota back by a fence": [90 * second, named],
});

async function drained(context: CaseContext): Promise<Figures> {
  const replicas = 9;
  const floor = 6;
  const fleet = await startFleet(context, { workers: ["worker-1"], webhookReplicas: 1, generator: false });
  const { namespace } = fleet;
  const cluster = await context.cluster("worker-1");
  const { admin } = cluster;
  // Other cases have left pods on the node, so these have a label of their own.
  const labels = { app: "web", "e2e-case": namespace };
  const first = startKubelet({ admin, namespace, bindTo: "node-0" });
  context.cleanup(() => first.stop());
  await admin.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(replicas);
  await fleet.protect("web", labels, floor, replicas);
  await fleet.waitIntercepted();

  await first.stop();
  const unready = startKubelet({ admin, namespace, bindTo: "node-1", readyDelayMs: "never" });
  context.cleanup(() => unready.stop());
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster };
  context.cleanup(() => kubectl(options, "uncordon", "node-0"));
  const startMs = performance.now();
  const draining = kubectl(
    options,
    "drain",
    "node-0",
    "--ignore-daemonsets",
    "--delete-emptydir-data",
    "--timeout=90s",
    `--pod-selector=e2e-case=${namespace}`,
  );
  await waitFor("the budget is used", 30 * second, () => available.serving === floor);
  const usedUpMs = performance.now();
  await delay(retryMs + second);
  assert.equal(available.serving, floor, "it waits, although it has tried again");
  await unready.stop();
  const later = startKubelet({ admin, namespace, bindTo: "node-1", readyDelayMs: 500 });
  context.cleanup(() => later.stop());
  const result = await draining;
  const drainMs = Math.round(performance.now() - startMs);
  const waitedMs = Math.round(performance.now() - usedUpMs);
  assert.equal(result.code, 0, result.stderr);
  const retries = result.stderr.match(/will retry after/g)?.length ?? 0;
  assert.ok(retries > 0, `no eviction was refused at the floor:\n${result.stderr}`);
  assert.match(result.stderr, /PodProtector core\/[^ ]+\/web/);
  for (const line of firstWait(result)) context.say(line);
  await waitFor("all replacements serve", 30 * second, () => available.serving === replicas);
  const left = await listPods(admin, namespace, "app=web");
  assert.deepEqual(new Set(left.map(({ spec }) => spec.nodeName)), new Set(["node-1"]));
  assert.ok(available.minimum >= floor, `${available.minimum} pods served during the drain`);
  await fleet.waitSettled("web", 30 * second);
  const writes = await fleet.webhookCount("webhook_status_write_total", { result: "written" });
  return { evicted: replicas, retries, drainMs, waitedMs, lowest: available.minimum, statusWrites: writes };
}

/** What kubectl drain prints of the first pod that has to wait, and its last line. */
function firstWait({ stdout, stderr }: KubectlResult): readonly string[] {
  const lines = stderr.split("\n").filter((line) => line.includes("will retry after"));
  return [...lines.slice(0, 1), stdout.trimEnd().split("\n").at(-1) ?? ""];
}

/** Long before the settle window of 75 s is over. */
const fencedWithinMs = 40 * second;

async function named(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startProtectedPods(context, threePods);
  const { namespace } = fleet;
  const { admin } = await context.cluster("worker-1");
  // Nothing may go by it, so the API server refuses what we have admitted.
  const budgets = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`;
  await admin.create(budgets, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "all" },
    spec: { selector: {}, minAvailable: "100%" },
  });
  const [pod] = await listPods(admin, namespace, "app=web");
  const { name = "", resourceVersion = "" } = pod?.metadata ?? {};
  const evict = async (): Promise<number | undefined> => {
    const how = { namespace, names: [name], concurrency: 1, how: "evict", preconditions: { resourceVersion } } as const;
    return (await deletePods(admin, how))[0]?.code;
  };
  assert.equal(await evict(), 429);
  const { status } = await fleet.protector("web");
  const buckets = status?.cells.flatMap(({ admissionHistory }) => admissionHistory?.buckets ?? []);
  assert.deepEqual(
    buckets?.map((bucket) => [bucket.podUID, bucket.podResourceVersion, bucket.evictionResourceVersion]),
    [[pod?.metadata.uid, undefined, resourceVersion]],
  );
  const startMs = performance.now();
  await fleet.waitSettled("web", fencedWithinMs);
  const settledMs = Math.round(performance.now() - startMs);
  assert.equal(await evict(), 409, "the fence has moved the pod");
  assert.equal(available.serving, 3);
  return { settledMs };
}

async function dryRun(context: CaseContext): Promise<Figures> {
  const { fleet, available } = await startProtectedPods(context, threePods);
  const { namespace } = fleet;
  const cluster = await context.cluster("worker-1");
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster };
  const deletion = (name: string): Promise<KubectlResult> =>
    kubectl(options, "delete", "pod", name, "--dry-run=server", `--namespace=${namespace}`);
  const evicting = (name: string) => ({ namespace, names: [name], concurrency: 1, how: "evict" }) as const;
  const eviction = async (name: string, isDryRun: boolean): Promise<number | undefined> => {
    const [attempt] = await deletePods(cluster.admin, { ...evicting(name), dryRun: isDryRun });
    return attempt?.code;
  };
  const version = async (): Promise<string> => (await fleet.protector("web")).metadata.resourceVersion;
  const reviews = (): Promise<number> => fleet.webhookCount("webhook_request_count");

  const before = await version();
  const reviewsBefore = await reviews();
  const admitted = await deletion("web-0");
  assert.equal(admitted.code, 0, admitted.stderr);
  assert.equal(await eviction("web-0", true), 201);
  assert.equal((await reviews()) - reviewsBefore, 2, "the webhook judged both");
  assert.equal(await version(), before);
  assert.equal(available.serving, 3);

  const formerPod = { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } };
  const [ofFormerPod] = await deletePods(cluster.admin, { ...evicting("web-0"), ...formerPod });
  assert.equal(ofFormerPod?.code, 409);
  assert.match(ofFormerPod?.message ?? "", /the UID in the precondition/);
  assert.equal((await reviews()) - reviewsBefore, 3);
  assert.equal(await version(), before, "what cannot succeed takes no quota");

  assert.equal(await eviction("web-0", false), 201);
  await fleet.waitCounted("web", 2);
  await fleet.waitSettled("web", 20 * second);
  const atFloor = await version();
  assert.notEqual(atFloor, before);
  const refused = await deletion("web-1");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /too few available replicas/);
  assert.equal(await eviction("web-1", true), 429);
  assert.equal(await version(), atFloor);
  return { statusWrites: await fleet.webhookCount("webhook_status_write_total"), left: available.serving };
}
