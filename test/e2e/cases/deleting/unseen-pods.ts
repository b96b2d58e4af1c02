/**
 * The control plane loses sight of nodes: the real node life cycle controller makes Ready False on their pods, which
 * serve on. One dead node blocks nothing; when none is heard, nobody deletes pods below the floor
 * (docs/accounting.md#unseen-pods).
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { beatNode } from "../../clusters/nodes.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { AvailableWatch } from "../../loads/available.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { deletePods } from "../../objects/deletions.ts";
import { startKubelet } from "../../objects/kubelet.ts";
import { createPods, listPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const nodes = ["node-0", "node-1"] as const;
const podsPerNode = 3;
const floor = 3;
const beatMs = 1 * second;
/** The controller of this cluster waits six seconds. */
const soonMs = 60 * second;
/** For so long a controller that runs wild deletes whatever is not Ready. */
const wildMs = 10 * second;

export const unseenPodCases = e2eCases({
  "unseen: one dead node blocks nothing, and when no node is heard nobody deletes pods below the floor": [
    240 * second,
    outOfSight,
  ],
});

async function outOfSight(context: CaseContext): Promise<Figures> {
  const cluster = "sightless";
  const fleet = await startFleet(context, { core: cluster, workers: [cluster], generator: false, webhookReplicas: 1 });
  const { core, namespace } = fleet;
  const { admin } = core;
  const alive = new Set<string>(nodes);
  const beating = (async () => {
    while (!context.signal.aborted) {
      for (const name of alive) await beatNode(admin, name);
      await delay(beatMs, undefined, { signal: context.signal });
    }
  })().catch(() => {});
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
  while (performance.now() - startMs < wildMs) {
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
  void beating;
  return { refused, left: floor };
}
