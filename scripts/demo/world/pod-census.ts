/** Counts the available pods of each service in each cell at every single change, from the API servers' own watches. */
import { type Engine, type KubeObject, builtInResources as types } from "../../../test/double/index.ts";
import { isActive, readySinceMs } from "../../../test/double/controllers/pod-status.ts";

/** The label by which pods belong to a service. */
export const serviceLabel = "app";

/** A pod that serves: ready and not being deleted. */
function isAvailable(pod: KubeObject): boolean {
  return isActive(pod) && readySinceMs(pod) !== undefined;
}

export class PodCensus {
  readonly #namespace: string;
  /** `service cell` -> UIDs of available pods. */
  readonly #available = new Map<string, Set<string>>();
  readonly #byService = new Map<string, number>();
  readonly #onChange: (service: string, available: number) => void;

  /** `onChange` is called within the commit of each change of a service's total. */
  constructor(namespace: string, onChange: (service: string, available: number) => void) {
    this.#namespace = namespace;
    this.#onChange = onChange;
  }

  /** Counts the pods of `engine` as those of `cell`, from now on; returns what ends it. */
  follow(cell: string, engine: Engine): () => void {
    const watch = engine.watch(
      types.pods,
      this.#namespace,
      {},
      {
        onEvent: (event) => {
          if (event.type === "ADDED" || event.type === "MODIFIED")
            this.#set(cell, event.object, isAvailable(event.object));
          else if (event.type === "DELETED") this.#set(cell, event.object, false);
        },
        // The server ends watches after half an hour at the earliest; the demo takes a minute.
        onEnd: () => undefined,
      },
    );
    return () => watch.close();
  }

  /** Available pods of the service in all cells. */
  total(service: string): number {
    return this.#byService.get(service) ?? 0;
  }

  inCell(service: string, cell: string): number {
    return this.#available.get(`${service} ${cell}`)?.size ?? 0;
  }

  #set(cell: string, pod: KubeObject, available: boolean): void {
    const service = pod.metadata.labels?.[serviceLabel] ?? "";
    const key = `${service} ${cell}`;
    const uids = this.#available.get(key) ?? new Set<string>();
    this.#available.set(key, uids);
    if (uids.has(pod.metadata.uid) === available) return;
    if (available) uids.add(pod.metadata.uid);
    else uids.delete(pod.metadata.uid);
    const total = this.total(service) + (available ? 1 : -1);
    this.#byService.set(service, total);
    this.#onChange(service, total);
  }
}
