/**
 * What a new user does on the first day, in a cluster with two nodes, the real controllers, the real scheduler and
 * kubectl: ten ordinary Deployments of 1 to 8 replicas and a StatefulSet with a PodProtector made by hand. Every node
 * is drained, every workload rolled, and pods are deleted by hand. All of it ends by itself, and who is refused is told
 * why.
 */
import assert from "node:assert/strict";
import { readAuditEvents } from "../../clusters/audit-log.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { kubectl, type KubectlResult } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";
import { deploymentManifest, deploymentsPath, floorOf, protectorOf, waitFloor } from "../../loads/workloads.ts";

const startLimitMs = 120 * second;
const replicasOf = [1, 1, 2, 2, 3, 4, 5, 6, 7, 8];
const nodes = ["node-0", "node-1"];
/** The pods of the StatefulSet, and how many of them must stay. */
const database = { name: "db", replicas: 3, floor: 2 };
/** kubectl tries an eviction again after 5 s; of a workload one pod at a time may go. */
const drainLimitSeconds = 180;
const rollLimitSeconds = 120;

export const firstDayCases = e2eCases({
  "first day: every node drained, every workload rolled, pods deleted by hand, and each refusal has a reason": [
    900 * second,
    firstDay,
  ],
});

interface Workload {
  /** As kubectl wants it. */
  readonly id: string;
  readonly name: string;
  readonly replicas: number;
  readonly floor: number;
  readonly available: AvailableWatch;
}

async function firstDay(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "system", workers: ["system"], webhookReplicas: 2 });
  const { admin } = fleet.core;
  const kubelet = startKubelet({ admin, readyDelayMs: 300, terminationDelayMs: 200 });
  context.cleanup(() => kubelet.stop());
  const workloads = await deploy(context, fleet);
  const by = new Operator(context, fleet);
  const startMs = performance.now();
  const since = (): number => Math.round(performance.now() - startMs);

  for (const node of nodes) {
    context.cleanup(() => admin.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable: false } }));
    await by.does("drain", node, "--pod-selector=app=web", `--timeout=${drainLimitSeconds}s`);
    await allServe(workloads);
    await by.does("uncordon", node);
  }
  const drainsMs = since();

  await by.does("rollout", "restart", ...workloads.map(({ id }) => id));
  for (const { id } of workloads) await by.does("rollout", "status", id, `--timeout=${rollLimitSeconds}s`);
  await allServe(workloads);
  const rollsMs = since() - drainsMs;

  for (const { name } of workloads) {
    const [pod] = await listPods(admin, fleet.namespace, `workload=${name}`);
    await by.does("delete", "pod", pod?.metadata.name ?? "");
    await allServe(workloads);
  }
  const refusedAtWork = refusalsIn(fleet);
  const tooMany = await by.tries("delete", "pod", ...[0, 1, 2].map((ordinal) => `${database.name}-${ordinal}`));
  await allServe(workloads);

  for (const { id, floor, available } of workloads)
    assert.ok(available.minimum >= floor, `${available.minimum} pods of ${id} served, not ${floor}`);
  // A controller was never in the way of itself, and each refusal says who must stay and what is to be done.
  for (const text of refusedAtWork) assert.match(text, reason);
  assert.notEqual(tooMany.code, 0, tooMany.stdout);
  assert.match(tooMany.stderr, /PodProtector core\/\S+\/db .*Must stay 2, available 2, promised 0, free 0/s);
  assert.match(tooMany.stderr, adviceAtTheFloor);
  assert.deepEqual(kubelet.failures, []);
  return { drainsMs, rollsMs, refusedAtWork: refusedAtWork.length };
}

/**
 * The third pod is gone. Whether its successor exists by the time of the refusal, and is counted, is up to the
 * controller: then there is something to wait for.
 */
const adviceAtTheFloor =
  /Only 2 replicas exist now: no available one may go until there are more than 2|Wait until more than 2 replicas are/;

/** What must be in every refusal. */
const reason = /Must stay \d+, available \d+, promised \d+, free \d+/;

/** Resolves when all pods serve, each PodProtector is counted, and the worker calls the webhook. */
async function deploy(context: CaseContext, fleet: Fleet): Promise<readonly Workload[]> {
  const { admin } = fleet.core;
  const workloads: Workload[] = [];
  const watch = (id: string, name: string, replicas: number, floor: number): void => {
    workloads.push({ id, name, replicas, floor, available: new AvailableWatch(context, fleet, `workload=${name}`) });
  };
  for (const [index, replicas] of replicasOf.entries()) {
    const name = `web-${index}`;
    await admin.create(deploymentsPath(fleet), deploymentManifest(name, replicas));
    watch(`deployment/${name}`, name, replicas, floorOf(replicas));
  }
  const { name, replicas, floor } = database;
  const labels = { app: "web", workload: name };
  await admin.create(`/apis/apps/v1/namespaces/${fleet.namespace}/statefulsets`, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { workload: name } },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "none" }] } },
    },
  });
  watch(`statefulset/${name}`, name, replicas, floor);
  for (const one of workloads) await one.available.begin(one.replicas);
  await fleet.protect(name, { workload: name }, floor, replicas);
  for (const [index, count] of replicasOf.entries()) {
    await waitFloor(fleet, `web-${index}`, floorOf(count), startLimitMs);
    await fleet.waitCounted(protectorOf(`web-${index}`), count);
  }
  await fleet.waitIntercepted();
  return workloads;
}

async function allServe(workloads: readonly Workload[]): Promise<void> {
  for (const { id, replicas, available } of workloads)
    await waitFor(`${id} has ${replicas} pods`, startLimitMs, () => available.serving === replicas);
}

class Operator {
  readonly #context: CaseContext;
  readonly #fleet: Fleet;

  constructor(context: CaseContext, fleet: Fleet) {
    this.#context = context;
    this.#fleet = fleet;
  }

  async tries(...args: readonly string[]): Promise<KubectlResult> {
    const { assets, processes } = this.#context;
    const timeoutMs = (drainLimitSeconds + 30) * second;
    const options = { kubectl: assets.kubectl, processes, cluster: this.#fleet.core, timeoutMs };
    return kubectl(options, `--namespace=${this.#fleet.namespace}`, ...args);
  }

  async does(...args: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.tries(...args);
    assert.equal(code, 0, `kubectl ${args.join(" ")}: ${stdout}\n${stderr}`);
  }
}

/** What everybody was told whose deletion or eviction was refused. */
function refusalsIn({ core, namespace }: Fleet): readonly string[] {
  return readAuditEvents(core).flatMap(({ objectRef, verb, responseStatus }) => {
    const isOurs = objectRef?.namespace === namespace && objectRef.resource === "pods";
    const isDeletion = verb === "delete" || objectRef?.subresource === "eviction";
    const isRefused = responseStatus !== undefined && responseStatus.code >= 400 && responseStatus.code !== 404;
    return isOurs && isDeletion && isRefused ? [responseStatus.message ?? ""] : [];
  });
}
