/**
 * The pods of a namespace or a whole cluster as a test sees them: list, watch, and again whenever the connection is
 * lost.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type AdminClient, type ObjectList } from "../clusters/admin-client.ts";
import { isServing, type Pod } from "./pods.ts";

export interface PodWatchOptions {
  readonly admin: AdminClient;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  /** Called for each pod that is new, has changed or is gone (`isGone`). */
  readonly onPod?: (pod: Pod, isGone: boolean) => void;
}

/** Between two attempts while the API server is away. */
const retryMs = 200;

export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #abort = new AbortController();
  readonly #pods = new Map<string, Pod>();
  readonly #serving = new Set<string>();
  readonly #running: Promise<void>;
  #servingMin = Infinity;

  /** Starts at once. */
  constructor(options: PodWatchOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  /** Pods that are Ready and not terminating. */
  get servingCount(): number {
    return this.#serving.size;
  }

  /** The lowest `servingCount` after any event since the last `resetMinimum`. */
  get servingMinimum(): number {
    return this.#servingMin;
  }

  /** Call it when the pods have reached their starting number. */
  resetMinimum(): void {
    this.#servingMin = this.#serving.size;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        await this.#listAndWatch(signal);
      } catch {
        // A test breaks connections on purpose; the next list repairs everything.
        await delay(retryMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    const { admin, namespace, labelSelector } = this.#options;
    const path = namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
    const query = labelSelector === undefined ? {} : { labelSelector };
    const list = await admin.ask<ObjectList<Pod>>("GET", path, { query, signal });
    const listed = new Set(list.items.map((pod) => pod.metadata.uid));
    for (const pod of this.pods()) if (!listed.has(pod.metadata.uid)) this.#gone(pod);
    for (const pod of list.items) this.#changed(pod);
    const watch = admin.watch<Pod>(path, { resourceVersion: list.metadata.resourceVersion, signal, ...query });
    for await (const event of watch) {
      if (event.type === "ERROR") return;
      if (event.type === "DELETED") this.#gone(event.object);
      else if (event.type !== "BOOKMARK") this.#changed(event.object);
    }
  }

  #changed(pod: Pod): void {
    const { uid } = pod.metadata;
    this.#pods.set(uid, pod);
    if (isServing(pod)) this.#serving.add(uid);
    else this.#serving.delete(uid);
    this.#note(pod, false);
  }

  #gone(pod: Pod): void {
    this.#pods.delete(pod.metadata.uid);
    this.#serving.delete(pod.metadata.uid);
    this.#note(pod, true);
  }

  #note(pod: Pod, isGone: boolean): void {
    this.#servingMin = Math.min(this.#servingMin, this.#serving.size);
    this.#options.onPod?.(pod, isGone);
  }
}
