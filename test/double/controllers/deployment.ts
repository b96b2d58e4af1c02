/** Deployment: one ReplicaSet per pod template, and rolling updates between them within maxSurge and maxUnavailable. */
import { type Caller } from "../engine/admission.ts";
import { type Engine } from "../engine/engine.ts";
import { type KubeObject, asNumber, asObject, jsonEquals } from "../engine/object.ts";
import { builtInResources as types } from "../engine/resources.ts";
import { keyOfObject } from "../engine/requests/watch.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type ObjectCache, controllerOf } from "./object-cache.ts";
import { isActive, resolveCount } from "./pod-status.ts";

const deploymentCaller: Caller = {
  username: "system:serviceaccount:kube-system:deployment-controller",
  groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
};

const hashLabel = "pod-template-hash";

/** FNV-1a, 32 bits, in the letters of generated names: stable for equal templates. */
function templateHash(template: unknown): string {
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(template)) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

function wanted(set: KubeObject): number {
  return asNumber(set.spec?.["replicas"]) ?? 0;
}
function reported(set: KubeObject, field: string): number {
  return asNumber(set.status?.[field]) ?? 0;
}
function sum(sets: readonly KubeObject[], read: (set: KubeObject) => number): number {
  return sets.reduce((total, set) => total + read(set), 0);
}

interface Limits {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

function limitsOf(deployment: KubeObject): Limits {
  const replicas = asNumber(deployment.spec?.["replicas"]) ?? 1;
  const rolling = asObject(asObject(deployment.spec?.["strategy"])["rollingUpdate"]);
  const maxSurge = resolveCount(rolling["maxSurge"], replicas, true);
  const maxUnavailable = resolveCount(rolling["maxUnavailable"], replicas, false);
  // Both zero could never make progress.
  return { replicas, maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

export class DeploymentController {
  readonly #engine: Engine;
  readonly #deployments: ObjectCache;
  readonly #sets: ObjectCache;
  readonly #pods: ObjectCache;
  readonly #queue: KeyedQueue;

  constructor(
    engine: Engine,
    caches: Readonly<Record<"deployments" | "sets" | "pods", ObjectCache>>,
    backoffMaxMs: number,
  ) {
    this.#engine = engine;
    this.#deployments = caches.deployments;
    this.#sets = caches.sets;
    this.#pods = caches.pods;
    this.#queue = new KeyedQueue({ clock: engine.clock, backoffMaxMs, process: (key) => this.#sync(key) });
    caches.deployments.subscribe((deployment) => this.#queue.add(keyOfObject(deployment)));
    caches.sets.subscribe((set) => {
      const owner = controllerOf(set);
      if (owner?.kind === "Deployment") this.#queue.add(`${set.metadata.namespace}/${owner.name}`);
    });
  }

  stop(): void {
    this.#queue.stop();
  }

  async #sync(key: string): Promise<void> {
    const deployment = this.#deployments.get(key);
    if (deployment === undefined || deployment.metadata.deletionTimestamp !== undefined) return;
    const sets = this.#sets
      .ownedBy(deployment.metadata.uid)
      .filter((set) => set.metadata.deletionTimestamp === undefined);
    const hash = templateHash(deployment.spec?.["template"]);
    const isNew = (set: KubeObject): boolean => set.metadata.labels?.[hashLabel] === hash;
    const old = sets.filter((set) => !isNew(set));
    const current = sets.find(isNew);
    await this.#updateStatus(deployment, sets, current);
    if (deployment.spec?.["paused"] === true) return;
    const recreate = asObject(deployment.spec?.["strategy"])["type"] === "Recreate";
    await (recreate ? this.#recreate(deployment, current, old, hash) : this.#roll(deployment, current, old, hash));
    await this.#dropHistory(deployment, old);
  }

  async #recreate(
    deployment: KubeObject,
    current: KubeObject | undefined,
    old: readonly KubeObject[],
    hash: string,
  ): Promise<void> {
    for (const set of old) await this.#scale(set, 0);
    // The new pods wait until the last old one is gone, terminating ones included.
    if (old.some((set) => this.#pods.ownedBy(set.metadata.uid).length > 0)) return;
    await this.#scaleNew(deployment, current, limitsOf(deployment).replicas, hash);
  }

  async #roll(
    deployment: KubeObject,
    current: KubeObject | undefined,
    old: readonly KubeObject[],
    hash: string,
  ): Promise<void> {
    const limits = limitsOf(deployment);
    const present = current === undefined ? 0 : wanted(current);
    const total = sum(old, wanted) + present;
    const room = limits.replicas + limits.maxSurge - total;
    const next =
      present >= limits.replicas ? limits.replicas : present + Math.max(0, Math.min(room, limits.replicas - present));
    const grown = current === undefined || next !== present;
    if (grown) await this.#scaleNew(deployment, current, next, hash);
    // As in the real controller, one step per sync: the change of the new set brings us back.
    if (grown && current !== undefined) return;
    if (current !== undefined) await this.#shrinkOld(limits, current, old, total);
  }

  async #shrinkOld(limits: Limits, current: KubeObject, old: readonly KubeObject[], total: number): Promise<void> {
    const minAvailable = limits.replicas - limits.maxUnavailable;
    const newUnavailable = Math.max(0, wanted(current) - reported(current, "availableReplicas"));
    let removable = total - minAvailable - newUnavailable;
    const oldestFirst = [...old].sort((a, b) => (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? -1 : 1));
    // Unhealthy pods of old sets cost no availability and go first.
    for (const set of oldestFirst) {
      const unhealthy = Math.max(0, wanted(set) - reported(set, "availableReplicas"));
      const step = Math.min(unhealthy, Math.max(0, removable));
      if (step === 0) continue;
      removable -= step;
      await this.#scale(set, wanted(set) - step);
    }
    const available = sum([...old, current], (set) => reported(set, "availableReplicas"));
    let healthy = Math.min(available - minAvailable, removable);
    for (const set of oldestFirst) {
      const fresh = this.#sets.get(keyOfObject(set)) ?? set;
      const step = Math.min(wanted(fresh), Math.max(0, healthy));
      if (step === 0) continue;
      healthy -= step;
      await this.#scale(fresh, wanted(fresh) - step);
    }
  }

  async #scaleNew(
    deployment: KubeObject,
    current: KubeObject | undefined,
    replicas: number,
    hash: string,
  ): Promise<void> {
    if (current === undefined) await this.#createSet(deployment, replicas, hash);
    else await this.#scale(current, replicas);
  }

  async #createSet(deployment: KubeObject, replicas: number, hash: string): Promise<void> {
    const { name, namespace, uid } = deployment.metadata;
    const { selector, minReadySeconds } = asObject(deployment.spec);
    const template = asObject(deployment.spec?.["template"]);
    const templateMeta = asObject(template["metadata"]);
    const labels = { ...asObject(templateMeta["labels"]), [hashLabel]: hash };
    const matchLabels = { ...asObject(asObject(selector)["matchLabels"]), [hashLabel]: hash };
    const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid, controller: true, blockOwnerDeletion: true };
    const body = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: `${name}-${hash}`, namespace, labels, ownerReferences: [owner] },
      spec: {
        replicas,
        selector: { ...asObject(selector), matchLabels },
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        template: { ...template, metadata: { ...templateMeta, labels } },
      },
    };
    await this.#engine.create(types.replicaSets, namespace, body, { caller: deploymentCaller });
  }

  async #scale(set: KubeObject, replicas: number): Promise<void> {
    if (wanted(set) === replicas) return;
    const { namespace, name } = set.metadata;
    const patch = { contentType: "application/merge-patch+json", body: { spec: { replicas } } };
    await this.#engine.patch(types.replicaSets, namespace, name, patch, { caller: deploymentCaller });
  }

  async #dropHistory(deployment: KubeObject, old: readonly KubeObject[]): Promise<void> {
    const kept = asNumber(deployment.spec?.["revisionHistoryLimit"]) ?? 10;
    const empty = old.filter((set) => wanted(set) === 0 && reported(set, "replicas") === 0);
    const pods = (set: KubeObject): number => this.#pods.ownedBy(set.metadata.uid).filter(isActive).length;
    const oldestFirst = empty
      .filter((set) => pods(set) === 0)
      .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
    for (const set of oldestFirst.slice(0, Math.max(0, oldestFirst.length - kept))) {
      await this.#engine.delete(
        types.replicaSets,
        set.metadata.namespace,
        set.metadata.name,
        {},
        { caller: deploymentCaller },
      );
    }
  }

  async #updateStatus(
    deployment: KubeObject,
    sets: readonly KubeObject[],
    current: KubeObject | undefined,
  ): Promise<void> {
    const replicas = sum(sets, (set) => reported(set, "replicas"));
    const available = sum(sets, (set) => reported(set, "availableReplicas"));
    const status = {
      observedGeneration: deployment.metadata.generation,
      replicas,
      updatedReplicas: current === undefined ? 0 : reported(current, "replicas"),
      readyReplicas: sum(sets, (set) => reported(set, "readyReplicas")),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, sum(sets, wanted) - available),
    };
    if (jsonEquals(status, deployment.status)) return;
    const { namespace, name } = deployment.metadata;
    const patch = { contentType: "application/merge-patch+json", body: { status } };
    await this.#engine.patch(types.deployments, namespace, name, patch, {
      subresource: "status",
      caller: deploymentCaller,
    });
  }
}
