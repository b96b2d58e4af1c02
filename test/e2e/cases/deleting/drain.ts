/**
 * `kubectl drain` of a node with Deployments of 1, 2, 3 and 8 replicas, all with Kubernetes' default maxUnavailable of
 * 25 %, with the real controllers and the real scheduler: it ends, and no Deployment falls below its floor.
 */
import assert from "node:assert/strict";
import { AvailableWatch } from "../../loads/available.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { kubectl } from "../../clusters/kubectl.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { listPods } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** Replicas and floor: 25 % of them may be missing, at least one (docs/generator.md#floors). */
const floors: ReadonlyMap<number, number> = new Map([
  [1, 0],
  [2, 1],
  [3, 2],
  [8, 6],
]);
const [drained, other] = ["node-0", "node-1"] as const;
const label = { drained: "yes" };
/** An eviction that is refused is tried again after 5 s; four rounds take some 20 s. The rest is for busy machines. */
const drainLimitSeconds = 120;

export const drainCases = e2eCases({
  "drain: kubectl drain of a node with Deployments of 1, 2, 3 and 8 replicas ends, and every floor holds": [
    300 * second,
    drain,
  ],
});

async function drain(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, { core: "system", workers: ["system"], allInOne: true });
  const { core: cluster, namespace } = fleet;
  const { admin } = cluster;
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: 200 });
  context.cleanup(() => kubelet.stop());
  context.cleanup(() => Promise.all([cordon(cluster, drained, false), cordon(cluster, other, false)]));

  // All pods begin on the node that is drained.
  await cordon(cluster, other, true);
  const available = new Map<number, AvailableWatch>();
  for (const replicas of floors.keys()) available.set(replicas, await deploy(context, fleet, replicas));
  const before = await listPods(admin, namespace, "drained");
  assert.deepEqual([...new Set(before.map(({ spec }) => spec.nodeName))], [drained]);
  await fleet.waitIntercepted();
  await cordon(cluster, other, false);

  const startMs = performance.now();
  const args = ["drain", drained, "--pod-selector=drained", `--timeout=${drainLimitSeconds}s`];
  const timeoutMs = (drainLimitSeconds + 30) * second;
  const options = { kubectl: context.assets.kubectl, processes: context.processes, cluster, timeoutMs };
  const { code, stdout, stderr } = await kubectl(options, ...args);
  const drainMs = Math.round(performance.now() - startMs);
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  const evicted = stdout.split("\n").filter((line) => line.endsWith(" evicted")).length;
  assert.equal(evicted, before.length, stdout);

  for (const [replicas, watch] of available) {
    await waitFor(`${replicas} pods serve again`, 60 * second, () => watch.serving === replicas);
    const floor = floors.get(replicas) ?? 0;
    assert.ok(watch.minimum >= floor, `${watch.minimum} of ${replicas} pods served during the drain, not ${floor}`);
  }
  const after = await listPods(admin, namespace, "drained");
  assert.deepEqual([...new Set(after.map(({ spec }) => spec.nodeName))], [other]);
  assert.deepEqual(kubelet.failures, []);
  const refusals = stderr.split("\n").filter((line) => line.includes("error when evicting")).length;
  return { evicted, refusals, drainMs };
}

/** Resolves when its floor is what it should be and its pods are counted. */
async function deploy(context: CaseContext, fleet: Fleet, replicas: number): Promise<AvailableWatch> {
  const name = `web-${replicas}`;
  const labels = { app: name };
  await fleet.core.admin.create(`/apis/apps/v1/namespaces/${fleet.namespace}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, ...label } },
        spec: { containers: [{ name: "main", image: "none" }] },
      },
    },
  });
  const available = new AvailableWatch(context, fleet, `app=${name}`);
  await available.begin(replicas);
  const floor = floors.get(replicas);
  await waitFor(`the floor of ${name} is ${floor}`, 30 * second, async () => {
    return (await fleet.protector(`deployment-${name}`)).spec.minAvailable === floor;
  });
  await fleet.waitCounted(`deployment-${name}`, replicas);
  return available;
}

async function cordon({ admin }: Cluster, node: string, unschedulable: boolean): Promise<void> {
  await admin.mergePatch(`/api/v1/nodes/${node}`, { spec: { unschedulable } });
}
