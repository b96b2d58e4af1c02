/** Scheduler: gives each pod the schedulable node with the fewest pods. Those of other schedulers are left alone. */
import { type Engine } from "../engine/engine.ts";
import { type KubeObject, asString } from "../engine/object.ts";
import { isApiError } from "../engine/status.ts";
import { keyOfObject } from "../engine/requests/watch.ts";
import { KeyedQueue } from "./keyed-queue.ts";
import { type ObjectCache } from "./object-cache.ts";
import { isActive } from "./pod-status.ts";

const schedulerCaller = { username: "system:kube-scheduler", groups: ["system:authenticated"] };
const ownName = "default-scheduler";
// A pod without a node is tried again when a node changes and, for simplicity, this often.
const unschedulableRetryMs = 1000;

export class Scheduler {
  readonly #engine: Engine;
  readonly #pods: ObjectCache;
  readonly #nodes: ObjectCache;
  readonly #queue: KeyedQueue;

  constructor(engine: Engine, pods: ObjectCache, nodes: ObjectCache, backoffMaxMs: number) {
    this.#engine = engine;
    this.#pods = pods;
    this.#nodes = nodes;
    this.#queue = new KeyedQueue({ clock: engine.clock, backoffMaxMs, process: (key) => this.#schedule(key) });
    pods.subscribe((pod, gone) => {
      if (!gone && this.#waits(pod)) this.#queue.add(keyOfObject(pod));
    });
  }

  stop(): void {
    this.#queue.stop();
  }

  #waits(pod: KubeObject): boolean {
    const { nodeName, schedulerName = ownName } = pod.spec ?? {};
    return isActive(pod) && (asString(nodeName) ?? "") === "" && schedulerName === ownName;
  }

  async #schedule(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    if (pod === undefined || !this.#waits(pod)) return;
    const load = new Map<string, number>();
    for (const node of this.#nodes.values()) {
      if (node.spec?.["unschedulable"] !== true) load.set(node.metadata.name, 0);
    }
    for (const other of this.#pods.values()) {
      const at = asString(other.spec?.["nodeName"]);
      if (at !== undefined && load.has(at)) load.set(at, load.get(at)! + 1);
    }
    const [best] = [...load].sort(([nameA, a], [nameB, b]) => a - b || (nameA < nameB ? -1 : 1));
    if (best === undefined) {
      this.#queue.addAfter(key, unschedulableRetryMs);
      return;
    }
    try {
      this.#engine.bind(pod.metadata.namespace!, pod.metadata.name, best[0], { caller: schedulerCaller });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
    }
  }
}
