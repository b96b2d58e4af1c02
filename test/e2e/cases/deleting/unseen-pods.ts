/**
 * The control plane loses sight of nodes: the real node life cycle controller makes Ready False on their pods, which
 * serve on. One dead node blocks nothing; when none is heard, nobody deletes pods below the floor
 * (docs/accounting.md#unseen-pods).
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { beatNode } from "../../clusters/nodes.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { type AdminClient } from "../../clusters/admin-client.ts";
import { type Fleet, startFleet } from "../../fleet/fleet.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { deploymentManifest, deploymentsPath } from "../../loads/workloads.ts";
import { deletePods } from "../../objects/deletions.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createNamespace, createPods, isServing, listPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const nodes = ["node-0", "node-1"] as const;
const podsPerNode = 3;
const floor = 3;
const beatMs = 1 * second;
/** The controller of this cluster waits six seconds. */
const soonMs = 60 * second;
/** For so long a controller that runs wild deletes whatever is not Ready. */
const wildMs = 10 * second;
const longWildMs = 600 * second;
/** Of a Deployment on a node that dies. */
const replicas = 4;
/** From the death of a node to its pods being made again: ten times what it takes. */
const replacedMs = 240 * second;

export const unseenPodCases = e2eCases({
  "unseen: one dead node blocks nothing, and when no node is heard nobody deletes pods below the floor": [
    240 * second,
    (context) => outOfSight(context, wildMs),
  ],
  "unseen: no node is heard for ten minutes while a controller runs wild, and every pod that ran still runs": [
    900 * second,
    (context) => outOfSight(context, longWildMs),
    { isLong: true },
  ],
  "unseen: the pods of one dead node are replaced, and no repair of them is refused": [480 * second, deadNode],
});

interface Sightless {
  readonly fleet: Fleet;
  readonly admin: AdminClient;
  /** Nodes that are heard. */
  readonly alive: Set<string>;
}

/** A cluster with the real node life cycle controller, which has heard of all nodes. */
async function startSightless(context: CaseContext): Promise<Sightless> {
  const cluster = "sightless";
  const fleet = await startFleet(context, { core: cluster, workers: [cluster], generator: false, webhookReplicas: 1 });
  const { admin } = fleet.core;
  const alive = new Set<string>(nodes);
  void (async () => {
    while (!context.signal.aborted) {
      for (const name of alive) await beatNode(admin, name);
      await delay(beatMs, undefined, { signal: context.signal });
    }
  })().catch(() => {});
  // Another case may have left them silent, and their taint would take the pods of this one.
  await waitFor("no node has a taint", soonMs, async () => {
    const found = await Promise.all(
      nodes.map((name) => admin.get<{ spec?: { taints?: readonly unknown[] } }>(`/api/v1/nodes/${name}`)),
    );
    return found.every(({ spec }) => (spec?.taints ?? []).length === 0);
  });
  return { fleet, admin, alive };
}

/** `forMs`: how long the controller runs wild. */
async function outOfSight(context: CaseContext, forMs: number): Promise<Figures> {
  const { fleet, admin, alive } = await startSightless(context);
  const { namespace } = fleet;
  const names = new Map<string, readonly string[]>();
  for (const nodeName of nodes) {
    const of = { namespace, count: podsPerNode, namePrefix: nodeName, labels: webLabels, nodeName };
    names.set(nodeName, await createPods(admin, of));
  }
  const kubelet = startKubelet({ admin, namespace, readyDelayMs: "never" });
  context.cleanup(() => kubelet.stop());
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(nodes.length * podsPerNode);
  await fleet.protect("web", webLabels, floor, nodes.length * podsPerNode);
  await fleet.waitIntercepted();

  const unseenOn = async (node: string): Promise<number> => {
    const list = await listPods(admin, namespace, "app=web");
    return list.filter(({ metadata, status }) => {
      const condition = (type: string) => status?.conditions?.find((one) => one.type === type);
      const [ready, containers] = [condition("Ready"), condition("ContainersReady")];
      if (!metadata.name.startsWith(`${node}-`) || ready?.status !== "False") return false;
      assert.equal(containers?.status, "True", "the controller leaves it, by which such pods are told from others");
      return true;
    }).length;
  };
  const [living, dead] = nodes;
  const deleteAll = (of: readonly string[]) =>
    deletePods(admin, { namespace, names: of, concurrency: of.length, how: "delete" });

  alive.delete(dead);
  await waitFor("the dead node is noticed", soonMs, async () => (await unseenOn(dead)) === podsPerNode);
  await fleet.waitCounted("web", podsPerNode);
  const [first = "", ...others] = present(names.get(dead));
  const [repaired] = await deleteAll([first]);
  assert.equal(repaired?.code, 200, repaired?.message ?? "");

  alive.delete(living);
  await waitFor("no node is heard", soonMs, async () => (await unseenOn(living)) === podsPerNode);
  // Until then those of the dead node go, because three others are counted, and serve.
  await fleet.waitCounted("web", 0);
  const left = [...others, ...present(names.get(living))];
  const startMs = performance.now();
  let refused = 0;
  while (performance.now() - startMs < forMs) {
    const attempts = await deleteAll(left);
    for (const { code, message } of attempts) {
      assert.notEqual(code, 200, "a pod that serves was deleted");
      assert.match(message, /the kubelet of this pod is not heard|too few available|could be left/);
    }
    refused += attempts.length;
    await delay(beatMs, undefined, { signal: context.signal });
  }
  assert.equal((await listPods(admin, namespace, "app=web")).length, left.length);
  const last = await deleteAll(left.slice(0, 1));
  assert.match(last[0]?.message ?? "", /the kubelet of this pod is not heard/);
  context.say(last[0]?.message ?? "");

  for (const name of nodes) alive.add(name);
  for (const name of left) await setPodReady(admin, { namespace, name });
  await fleet.waitCounted("web", left.length);
  const codes = (await deleteAll(left)).map(({ code }) => code);
  assert.equal(codes.filter((code) => code === 200).length, left.length - floor);
  return { refused, left: floor };
}

/**
 * Two Deployments whose pods all run on one node, the one protected, the other in a namespace that no webhook is asked
 * about. The node dies: taint eviction takes both away, whatever must stay, and their controller makes the pods again.
 */
async function deadNode(context: CaseContext): Promise<Figures> {
  const { fleet, admin, alive } = await startSightless(context);
  const unprotected = `${fleet.namespace}-unprotected`;
  await createNamespace(admin, unprotected);
  const namespaces = [fleet.namespace, unprotected];
  const [living, dead] = nodes;
  const playKubelets = (bindTo: string) => {
    const kubelets = namespaces.map((namespace) =>
      startKubelet({ admin, namespace, bindTo, isAlone: true, terminationDelayMs: "never" }),
    );
    context.cleanup(() => Promise.all(kubelets.map((kubelet) => kubelet.stop())));
    return kubelets;
  };
  const servingOn = async (namespace: string, node: string): Promise<number> => {
    const pods = await listPods(admin, namespace, "app=web");
    return pods.filter((pod) => isServing(pod) && pod.spec.nodeName === node).length;
  };
  const former = playKubelets(dead);
  for (const namespace of namespaces) {
    await admin.create(deploymentsPath({ namespace }), impatient(deploymentManifest("web", replicas)));
    await waitFor("the pods serve", soonMs, async () => (await servingOn(namespace, dead)) === replicas);
  }
  await fleet.protect("web", webLabels, replicas - 1, replicas);
  await fleet.waitIntercepted();
  for (const kubelet of former) await kubelet.stop();
  playKubelets(living);

  alive.delete(dead);
  const diedMs = performance.now();
  const [replaced = 0, withoutUs = 0] = await Promise.all(
    namespaces.map(async (namespace) => {
      await waitFor("the pods are replaced", replacedMs, async () => {
        return (await servingOn(namespace, living)) === replicas;
      });
      return Math.round(performance.now() - diedMs);
    }),
  );
  const metrics = await present(fleet.webhooks[0]).metrics();
  const refusals = metrics.samples("webhook_decisions_total", { result: "refused", reason: "TooFewReplicas" });
  assert.deepEqual(refusals, [], "taint eviction was refused");
  alive.add(dead);
  return { replacedMs: replaced, withoutUsMs: withoutUs };
}

/** Its pods tolerate a node that is not heard for three seconds, not for five minutes. */
function impatient(deployment: ReturnType<typeof deploymentManifest>): typeof deployment {
  const tolerations = ["not-ready", "unreachable"].map((why) => ({
    key: `node.kubernetes.io/${why}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 3,
  }));
  const { template, ...spec } = deployment["spec"] as { template: { spec: object; metadata: object } };
  return { ...deployment, spec: { ...spec, template: { ...template, spec: { ...template.spec, tolerations } } } };
}
