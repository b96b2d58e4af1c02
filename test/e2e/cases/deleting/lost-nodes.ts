/**
 * Node objects are deleted while their nodes live: pod garbage collection ends the pods by their status, which is
 * judged like a deletion (docs/system-deletions.md#node-objects-that-are-gone). Pods of dead nodes go.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { AvailableWatch } from "../../loads/available.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { createNode, removeNode } from "../../clusters/nodes.ts";
import { eventMessage } from "../../objects/events.ts";
import { createPods, listPods, setPodReady } from "../../objects/pods.ts";
import { webLabels } from "../../loads/protected-pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** Pods of nodes that are there, of living nodes whose objects are lost, and of dead ones: a third is lost. */
const pods = { there: 12, living: 3, dead: 3 } as const;
/** Without the dead ones, one more may go. */
const floor = pods.there + pods.living - 1;
/** The collector looks every 20 s, and waits 40 s for a node to appear again. */
const collectorLimitMs = 180 * second;
const collectorRoundsMs = 75 * second;
/** Longer than a lost node is asked about the first time, shorter than the time until it is lost again. */
const graceMs = 180 * second;
/** A node that one replica is not asked about for so long was registered again. */
const registeredMs = 330 * second;
const [living, dead] = ["living", "dead"] as const;

export const lostNodeCases = e2eCases({
  "nodes: Node objects of a third of the pods are deleted, one twice: the floor holds, and pods of dead nodes go": [
    1_200 * second,
    lostNodes,
    { isLong: true },
  ],
});

async function lostNodes(context: CaseContext): Promise<Figures> {
  const fleet = await startFleet(context, {
    core: "system",
    workers: ["system"],
    generator: false,
    webhookReplicas: 1,
    webhookArgs: [`--orphaned-pod-grace=${graceMs}ms`, "--webhook-core-unavailable-replicas=1"],
  });
  const { core, namespace } = fleet;
  const { admin } = core;
  for (const name of [living, dead]) {
    await createNode(admin, name);
    context.cleanup(() => removeNode(admin, name));
  }
  const create = (count: number, nodeName: string): Promise<readonly string[]> =>
    createPods(admin, { namespace, count, namePrefix: nodeName, labels: webLabels, nodeName });
  await create(pods.there, "node-0");
  await create(pods.living, living);
  const ofDead = await create(pods.dead, dead);
  const available = new AvailableWatch(context, fleet, "app=web");
  await available.begin(pods.there + pods.living + pods.dead);
  await fleet.protect("web", webLabels, floor, pods.there + pods.living + pods.dead);
  await fleet.waitIntercepted();

  // As the node controller does it, 40 s after a node has died.
  for (const name of ofDead) await setPodReady(admin, { namespace, name }, { ready: false });
  for (const name of [living, dead]) await removeNode(admin, name);
  const startMs = performance.now();
  const countOf = async (nodeName: string): Promise<number> => {
    const list = await listPods(admin, namespace, "app=web");
    return list.filter(({ metadata }) => metadata.name.startsWith(`${nodeName}-`)).length;
  };
  await waitFor("pods of the dead node are collected, and one of the living", collectorLimitMs, async () => {
    return (await countOf(dead)) === 0 && (await countOf(living)) === pods.living - 1;
  });
  const refusals = (): Promise<number> =>
    fleet.webhookCount("webhook_request_count", { status: "Rejected", cause: "EndPod" });
  await waitFor("the others are kept", collectorLimitMs, async () => (await refusals()) > 0);
  const collectedMs = Math.round(performance.now() - startMs);
  await delay(collectorRoundsMs, undefined, { signal: context.signal });
  assert.equal(available.serving, floor);
  const refused = await refusals();

  // The kubelet of the living node registers it again, and the collector has no reason any more.
  await createNode(admin, living);
  await delay(collectorRoundsMs, undefined, { signal: context.signal });
  const afterwards = await refusals();
  await delay(registeredMs - collectorRoundsMs, undefined, { signal: context.signal });
  assert.equal(await refusals(), afterwards, "the collector goes on");

  // It is lost once more. Its grace has not gone on meanwhile, and ends when it was asked about for as long.
  await removeNode(admin, living);
  await waitFor("its pods are kept again", collectorLimitMs, async () => (await refusals()) > afterwards);
  const againMs = performance.now();
  await delay(graceMs - 30 * second, undefined, { signal: context.signal });
  assert.equal(available.minimum, floor);
  await waitFor("its pods are let go", collectorLimitMs, async () => (await countOf(living)) === 0);
  const graceTookMs = Math.round(performance.now() - againMs);
  assert.equal(available.serving, pods.there);
  const query = { namespace, reason: "OrphanLetGo" };
  context.say(await waitFor("an Event tells of it", 30 * second, () => eventMessage(admin, query)));
  return { left: available.serving, collectedMs, refused, graceTookMs };
}
