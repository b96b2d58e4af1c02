/**
 * kubectl drain, and what follows from it in a cluster: kubelets end the evicted pods, controllers replace them on
 * other nodes, and the disruption controller counts again. The evictions of a node are asked for at short intervals,
 * and again every five seconds. Pods that are not touched stay as they are.
 */
import { assert } from "../../../src/util/assert.ts";
import { asObject, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/index.ts";
import { compileLabelSelector } from "../../double/engine/selectors.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type RandomBudget, type RandomCluster } from "./random-cluster.ts";
import { createPod, end, evict, isReady, podsOf, setStatus } from "./pods.ts";

const { podDisruptionBudgets } = builtInResources;
const cell = "a";
/** Between the evictions of one round. */
const betweenMs = 20;
/** As kubectl has it. */
const againMs = 5_000;
/** In the first round nothing settles before all have been asked for, even where the webhook holds a review. */
const firstRoundLagMs = 12_000;
/** Promises of evictions that do not happen settle in two minutes and a quarter. */
const patienceMs = 150_000;
/** Each lets a pod go, or is one of those that are waited for. */
const roundsMax = 400;
const shelter = "node-9";

export interface Drained {
  /** Of the first node: evicted by the first request. */
  readonly atOnce: readonly string[];
  readonly later: readonly string[];
  /** On the node at which the drain is stuck. */
  readonly never: readonly string[];
  /** Undefined = the drain ends. */
  readonly stuckAt: string | undefined;
  /** Of the nodes that it has not begun with. */
  readonly untouched: readonly string[];
}

export async function drain(cluster: RandomCluster): Promise<Drained> {
  const { stage, drained } = cluster;
  await updateBudgets(cluster);
  const atOnce: string[] = [];
  const later: string[] = [];
  for (const [index, node] of drained.entries()) {
    const asked = podsOf(stage.server(cell)).filter((pod) => pod.spec?.["nodeName"] === node && isEvicted(pod));
    stage.lag(cell, firstRoundLagMs);
    const first = await round(cluster, asked);
    stage.lag(cell, 0);
    (index === 0 ? atOnce : later).push(...namesOf(first));
    const second = await insist(
      cluster,
      asked.filter((pod) => !first.includes(pod)),
      first,
    );
    later.push(...namesOf(second.gone));
    if (second.left.length === 0) continue;
    const untouched = podsOf(stage.server(cell)).filter((pod) =>
      drained.slice(index + 1).includes(String(pod.spec?.["nodeName"])),
    );
    return { atOnce, later, never: namesOf(second.left), stuckAt: node, untouched: namesOf(untouched) };
  }
  return { atOnce, later, never: [], stuckAt: undefined, untouched: [] };
}

/** As kubectl's filters have it. */
function isEvicted({ metadata, status }: KubeObject): boolean {
  if (metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) return false;
  const isDaemon = metadata.ownerReferences?.some(({ kind }) => kind === "DaemonSet") === true;
  return !isDaemon || asObject(status)["phase"] === "Succeeded";
}

/** Asks for each of them, in their order; resolves to those that were evicted. */
async function round({ stage }: RandomCluster, asked: readonly KubeObject[]): Promise<readonly KubeObject[]> {
  for (const { metadata } of asked) {
    await stage.ask(`${cell}/${metadata.name}`, "none", evict, false);
    await stage.advance(betweenMs);
  }
  const evicted: KubeObject[] = [];
  for (const pod of asked) {
    const answer = await stage.answer(`${cell}/${pod.metadata.name}`);
    if (answer === "allowed") evicted.push(pod);
    else assert(answer.startsWith("refused"), `an eviction was answered with ${answer}`);
  }
  return evicted;
}

/** Goes on until all have gone, or nothing has for a long time. */
async function insist(
  cluster: RandomCluster,
  waiting: readonly KubeObject[],
  first: readonly KubeObject[],
): Promise<{ readonly gone: readonly KubeObject[]; readonly left: readonly KubeObject[] }> {
  const { stage } = cluster;
  const { kernel } = stage.world;
  const gone: KubeObject[] = [];
  let left = waiting;
  let evicted = first;
  let movedMs = kernel.nowMs;
  for (let count = 0; count < roundsMax; count += 1) {
    for (const pod of evicted) await replace(cluster, pod);
    if (evicted.length > 0) movedMs = kernel.nowMs;
    await updateBudgets(cluster);
    if (left.length === 0 || kernel.nowMs - movedMs > patienceMs) break;
    await stage.advance(againMs);
    evicted = await round(cluster, left);
    gone.push(...evicted);
    left = left.filter((pod) => !evicted.includes(pod));
  }
  return { gone, left };
}

async function replace({ stage }: RandomCluster, { metadata, status }: KubeObject): Promise<void> {
  const server = stage.server(cell);
  const { name, labels = {}, ownerReferences = [] } = metadata;
  if (podsOf(server).some((pod) => pod.metadata.uid === metadata.uid)) await stage.during(end(server, name));
  const [controller] = ownerReferences;
  if (controller === undefined || asObject(status)["phase"] === "Succeeded") return;
  const fields = { name: `${name}-r`, node: shelter, labels, controllerKind: controller.kind, isForced: false };
  await stage.during(createPod(server, { ...fields, isReady: false }));
  await stage.advance(500);
  await stage.during(setStatus(server, fields.name, { phase: "Running", isReady: true }));
}

/** What the disruption controller writes. */
export async function updateBudgets({ stage, budgets }: Pick<RandomCluster, "stage" | "budgets">): Promise<void> {
  const { engine } = stage.server(cell);
  for (const budget of budgets) {
    const status = { observedGeneration: 1, ...figuresOf(budget, podsOf(stage.server(cell))), disruptedPods: null };
    const patch = { contentType: "application/merge-patch+json", body: { status } };
    await stage.during(engine.patch(podDisruptionBudgets, namespace, budget.name, patch, { subresource: "status" }));
  }
}

function figuresOf({ labels, desired, expected }: RandomBudget, pods: readonly KubeObject[]) {
  const isOf = compileLabelSelector({ matchLabels: labels });
  const healthy = pods.filter(
    (pod) => isOf(pod.metadata.labels ?? {}) && isReady(pod) && pod.metadata.deletionTimestamp === undefined,
  );
  return {
    desiredHealthy: desired,
    expectedPods: expected,
    currentHealthy: healthy.length,
    disruptionsAllowed: Math.max(0, healthy.length - desired),
  };
}

function namesOf(pods: readonly KubeObject[]): readonly string[] {
  return pods.map(({ metadata }) => metadata.name);
}
