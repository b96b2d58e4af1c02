/**
 * ReplicaSet: creates and deletes pods until there are spec.replicas of them, and reports how many are ready and
 * available.
 */
import { type Caller } from "../engine/admission.ts";
import { type Engine } from "../engine/engine.ts";
import { type KubeObject, asNumber, asObject, jsonEquals } from "../engine/object.ts";
import { builtInResources as types } from "../engine/resources.ts";
import { isApiError } from "../engine/status.ts";
import { keyOfObject } from "../engine/requests/watch.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type ObjectCache, controllerOf } from "./object-cache.ts";
import { isActive, phaseOf, readySinceMs, untilAvailableMs } from "./pod-status.ts";

const replicaSetCaller: Caller = {
  username: "system:serviceaccount:kube-system:replicaset-controller",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};

// The real controller creates and deletes at most this many pods in one go.
const burstMax = 500;

/** Pods to delete first come first: unscheduled, pending, not ready, and among the ready ones the youngest. */
function deletionRank(pod: KubeObject): number {
  if (pod.spec?.["nodeName"] === undefined) return 0;
  if (phaseOf(pod) !== "Running") return 1;
  return readySinceMs(pod) === undefined ? 2 : 3;
}
function compareForDeletion(a: KubeObject, b: KubeObject): number {
  const byRank = deletionRank(a) - deletionRank(b);
  if (byRank !== 0) return byRank;
  const byAge = (readySinceMs(b) ?? 0) - (readySinceMs(a) ?? 0);
  return byAge !== 0 ? byAge : Date.parse(b.metadata.creationTimestamp) - Date.parse(a.metadata.creationTimestamp);
}

export class ReplicaSetController {
  readonly #engine: Engine;
  readonly #sets: ObjectCache;
  readonly #pods: ObjectCache;
  readonly #queue: KeyedQueue;

  constructor(engine: Engine, sets: ObjectCache, pods: ObjectCache, backoffMaxMs: number) {
    this.#engine = engine;
    this.#sets = sets;
    this.#pods = pods;
    this.#queue = new KeyedQueue({ clock: engine.clock, backoffMaxMs, process: (key) => this.#sync(key) });
    sets.subscribe((set) => this.#queue.add(keyOfObject(set)));
    pods.subscribe((pod) => {
      const owner = controllerOf(pod);
      if (owner?.kind === "ReplicaSet") this.#queue.add(`${pod.metadata.namespace}/${owner.name}`);
    });
  }

  stop(): void {
    this.#queue.stop();
  }

  async #sync(key: string): Promise<void> {
    const set = this.#sets.get(key);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    const pods = this.#pods.ownedBy(set.metadata.uid).filter(isActive);
    const surplus = pods.length - (asNumber(set.spec?.["replicas"]) ?? 1);
    await this.#updateStatus(set, pods);
    const work =
      surplus < 0
        ? Array.from({ length: Math.min(-surplus, burstMax) }, () => this.#createPod(set))
        : pods
            .sort(compareForDeletion)
            .slice(0, Math.min(surplus, burstMax))
            .map((pod) => this.#deletePod(pod));
    const outcomes = await Promise.allSettled(work);
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #createPod(set: KubeObject): Promise<void> {
    const template = asObject(set.spec?.["template"]);
    const { labels, annotations } = asObject(template["metadata"]);
    const { name, namespace, uid } = set.metadata;
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true, blockOwnerDeletion: true };
    const metadata = { generateName: `${name}-`, namespace, labels, annotations, ownerReferences: [owner] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: template["spec"] };
    await this.#engine.create(types.pods, namespace, pod, {
      caller: replicaSetCaller,
      fieldManager: "kube-controller-manager",
    });
  }

  async #deletePod(pod: KubeObject): Promise<void> {
    const { namespace, name } = pod.metadata;
    try {
      await this.#engine.delete(types.pods, namespace, name, {}, { caller: replicaSetCaller });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }

  async #updateStatus(set: KubeObject, pods: readonly KubeObject[]): Promise<void> {
    const minReadySeconds = asNumber(set.spec?.["minReadySeconds"]) ?? 0;
    const nowMs = this.#engine.clock.epochMicros() / 1000;
    const waits = pods.map((pod) => untilAvailableMs(pod, minReadySeconds, nowMs)).filter((wait) => wait !== undefined);
    const young = waits.filter((wait) => wait > 0);
    if (young.length > 0) this.#queue.addAfter(keyOfObject(set), Math.min(...young));
    const status = {
      replicas: pods.length,
      fullyLabeledReplicas: pods.length,
      readyReplicas: waits.length,
      availableReplicas: waits.length - young.length,
      observedGeneration: set.metadata.generation,
    };
    if (jsonEquals(status, set.status)) return;
    const { namespace, name, resourceVersion } = set.metadata;
    const body = { status, metadata: { resourceVersion } };
    const patch = { contentType: "application/merge-patch+json", body };
    await this.#engine.patch(types.replicaSets, namespace, name, patch, {
      subresource: "status",
      caller: replicaSetCaller,
    });
  }
}
