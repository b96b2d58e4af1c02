/** Kubelet of all nodes: runs pods that have a node, and confirms the deletion of those that terminate. */
import { type Caller } from "../engine/admission.ts";
import { type Engine } from "../engine/engine.ts";
import { withCondition } from "../engine/requests/eviction.ts";
import { nowSeconds } from "../engine/metadata.ts";
import { type KubeObject, asArray, asObject, asString } from "../engine/object.ts";
import { builtInResources as types } from "../engine/resources.ts";
import { isApiError } from "../engine/status.ts";
import { keyOfObject } from "../engine/requests/watch.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type ObjectCache } from "./object-cache.ts";
import { phaseOf } from "./pod-status.ts";

export interface KubeletOptions {
  /** From the assignment to a node until the pod is Running and Ready. */
  readonly readyDelayMs: (pod: KubeObject) => number;
  /** From the deletion until the pod is confirmed to be gone. */
  readonly terminationMs: (pod: KubeObject) => number;
}

function nodeOf(pod: KubeObject): string {
  return asString(pod.spec?.["nodeName"]) ?? "";
}
function callerFor(pod: KubeObject): Caller {
  return { username: `system:node:${nodeOf(pod)}`, groups: ["system:nodes", "system:authenticated"] };
}

export class Kubelet {
  readonly #engine: Engine;
  readonly #pods: ObjectCache;
  readonly #starting: KeyedQueue;
  readonly #stopping: KeyedQueue;
  /** Pods whose start or end has been arranged, by UID. */
  readonly #arranged = new Map<string, "start" | "end">();

  constructor(engine: Engine, pods: ObjectCache, options: KubeletOptions, backoffMaxMs: number) {
    this.#engine = engine;
    this.#pods = pods;
    const { clock } = engine;
    this.#starting = new KeyedQueue({ clock, backoffMaxMs, process: (key) => this.#run(key) });
    this.#stopping = new KeyedQueue({ clock, backoffMaxMs, process: (key) => this.#confirm(key) });
    pods.subscribe((pod, gone) => {
      const { uid, deletionTimestamp } = pod.metadata;
      if (gone) this.#arranged.delete(uid);
      else if (nodeOf(pod) === "") return;
      else if (deletionTimestamp !== undefined) {
        if (this.#arranged.get(uid) === "end") return;
        this.#arranged.set(uid, "end");
        this.#stopping.addAfter(keyOfObject(pod), options.terminationMs(pod));
      } else if (phaseOf(pod) === "Pending" && !this.#arranged.has(uid)) {
        this.#arranged.set(uid, "start");
        this.#starting.addAfter(keyOfObject(pod), options.readyDelayMs(pod));
      }
    });
  }

  stop(): void {
    this.#starting.stop();
    this.#stopping.stop();
  }

  async #run(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined || phaseOf(pod) !== "Pending") return;
    const { namespace, name, uid } = pod.metadata;
    const time = nowSeconds(this.#engine.clock);
    let conditions: unknown = pod.status?.["conditions"];
    for (const type of ["PodScheduled", "Initialized", "ContainersReady", "Ready"]) {
      conditions = withCondition(conditions, { type, status: "True" }, time);
    }
    const containerStatuses = asArray(pod.spec?.["containers"]).map((container) => {
      const { name: containerName, image } = asObject(container);
      return {
        name: containerName,
        image,
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: time } },
      };
    });
    const status = { phase: "Running", startTime: time, conditions, containerStatuses };
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { uid }, status } };
    const options = { subresource: "status", caller: callerFor(pod), fieldManager: "kubelet" } as const;
    await this.#unlessGone(this.#engine.patch(types.pods, namespace, name, patch, options));
  }

  async #confirm(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    if (pod === undefined || pod.metadata.deletionTimestamp === undefined) return;
    const { namespace, name, uid } = pod.metadata;
    const deleteOptions = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#unlessGone(this.#engine.delete(types.pods, namespace, name, deleteOptions, { caller: callerFor(pod) }));
  }

  async #unlessGone(request: Promise<unknown>): Promise<void> {
    try {
      await request;
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }
}
