/**
 * Which refusals of a run were unnecessary: computed afterwards, from what a watch of the pods and workloads has shown
 * and from what the API server's audit log says of deletions. Pure; it knows nothing of PodProtectors.
 */

/** A pod as a watch shows it. Pods of one name follow each other, as those of a StatefulSet do. */
export interface SeenPod {
  readonly atMs: number;
  readonly kind: "pod";
  readonly name: string;
  readonly uid: string;
  readonly workload: string;
  /** Ready, not terminating, not gone. */
  readonly isAvailable: boolean;
}

/** How many pods of the workload must stay, by its spec as it is from now on. */
export interface SeenFloor {
  readonly atMs: number;
  readonly kind: "floor";
  readonly workload: string;
  readonly floor: number;
}

/** A deletion or an eviction that somebody asked for. */
export interface AskedDeletion {
  readonly fromMs: number;
  /** When it was answered. */
  readonly atMs: number;
  readonly kind: "deletion";
  /** Of the pod. */
  readonly name: string;
  readonly outcome: "admitted" | "refused";
}

export type LogEntry = SeenPod | SeenFloor | AskedDeletion;

/**
 * A decision is made within this time before the answer, unless the request is shorter: the webhook's answer, the API
 * server's write, and two watches on a busy machine. Before that a request may have been held.
 */
export const decisionMs = 50;

/**
 * The refused deletions for which there was room all the time while they were decided: available pods of the workload
 * that are not promised to anybody yet, minus its floor, were at least 1. All times are of one clock.
 */
export function unnecessaryRefusals(log: readonly LogEntry[]): readonly AskedDeletion[] {
  const state = new State();
  const open = new Map<AskedDeletion, number>();
  const unnecessary: AskedDeletion[] = [];
  for (const { entry, isEnd } of stepsOf(log)) {
    if (entry.kind !== "deletion") {
      state.seen(entry);
    } else if (entry.outcome === "admitted") {
      state.promise(entry.name);
    } else if (isEnd) {
      if ((open.get(entry) ?? 0) >= 1) unnecessary.push(entry);
      open.delete(entry);
      continue;
    } else {
      open.set(entry, state.room(entry.name));
    }
    for (const [refused, room] of open) open.set(refused, Math.min(room, state.room(refused.name)));
  }
  return unnecessary;
}

interface Step {
  readonly atMs: number;
  readonly entry: LogEntry;
  /** Of a refused deletion: its end, not its beginning. */
  readonly isEnd: boolean;
}

/** In the order of time. A promise takes room from when its decision may have been made. */
function stepsOf(log: readonly LogEntry[]): readonly Step[] {
  const steps = log.flatMap((entry): readonly Step[] => {
    if (entry.kind !== "deletion") return [{ atMs: entry.atMs, entry, isEnd: false }];
    const begin = { atMs: Math.max(entry.fromMs, entry.atMs - decisionMs), entry, isEnd: false };
    return entry.outcome === "admitted" ? [begin] : [begin, { atMs: entry.atMs, entry, isEnd: true }];
  });
  return steps.toSorted((a, b) => a.atMs - b.atMs);
}

class State {
  readonly #floors = new Map<string, number>();
  /** The newest pod of each name. */
  readonly #pods = new Map<string, SeenPod>();
  /** UIDs of pods whose deletion was admitted. */
  readonly #promised = new Set<string>();

  seen(entry: SeenPod | SeenFloor): void {
    if (entry.kind === "floor") {
      this.#floors.set(entry.workload, entry.floor);
      return;
    }
    const known = this.#pods.get(entry.name);
    // The end of a pod may be seen when its successor is there already.
    const isOfFormer = known !== undefined && known.uid !== entry.uid && !entry.isAvailable && known.isAvailable;
    if (!isOfFormer) this.#pods.set(entry.name, entry);
  }

  promise(name: string): void {
    const pod = this.#pods.get(name);
    if (pod !== undefined) this.#promised.add(pod.uid);
  }

  /** Of the workload of this pod; 0 when it is not known. */
  room(name: string): number {
    const workload = this.#pods.get(name)?.workload;
    const floor = workload === undefined ? undefined : this.#floors.get(workload);
    if (floor === undefined) return 0;
    const pods = this.#pods.values().filter((pod) => pod.workload === workload && pod.isAvailable);
    return pods.filter(({ uid }) => !this.#promised.has(uid)).reduce((count) => count + 1, 0) - floor;
  }
}
