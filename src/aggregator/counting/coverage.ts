/**
 * Which pods of the cell no PodProtector protects, in any core (docs/aggregator.md#coverage). It is kept incrementally:
 * a pod is looked at when it changes, or when a PodProtector begins or ceases to count it. Only what is not covered is
 * kept.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type PodRecord, otherWorkload } from "../../api/pod.ts";
import { type Informer, type InformerEvent } from "../../kube/informer.ts";
import { type MatchTable } from "./match-table.ts";

export interface CoverageOptions {
  readonly pods: Pick<Informer<PodRecord>, "get" | "subscribe">;
  /** Namespaces whose pods nobody wants protected. */
  readonly excludedNamespaces: ReadonlySet<string>;
  /** Of the update-trigger. */
  readonly dummyPod: { readonly namespace: string; readonly name: string };
}

/**
 * Workloads without a number of pods that could have to stay: one pod for each node, pods that are to finish, and
 * mirrors of static pods, whose deletion ends nothing.
 */
const exemptKinds: ReadonlySet<string> = new Set(["DaemonSet", "Job", "Node"]);

/** Uncovered pods that are looked through for names. */
const searchedMax = 1_000;

export class Coverage {
  readonly #options: CoverageOptions;
  /** One for each core. */
  readonly #tables: Pick<MatchTable, "protects">[] = [];
  /** The kind of each uncovered pod. */
  readonly #uncovered = new Map<ObjectKey, string>();
  /** Kinds that have no uncovered pod any more stay, with 0. The pod decoder limits how many there are. */
  readonly #byKind = new Map<string, number>();

  constructor(options: CoverageOptions) {
    this.#options = options;
  }

  /** PodProtectors of one more core. */
  addTable(table: Pick<MatchTable, "protects">): void {
    this.#tables.push(table);
  }

  /** Begins to look at pods that change. Call when all tables are subscribed, and before the informer runs. */
  watch(): void {
    this.#options.pods.subscribe({ onEvent: (event) => this.#podEvent(event) });
  }

  /** Looks at the pod once more: what protects it may have changed. */
  recheck(key: ObjectKey): void {
    const pod = this.#options.pods.get(key);
    const kind = pod !== undefined && this.#lacksCover(pod) ? (pod.workloadKind ?? otherWorkload) : undefined;
    const before = this.#uncovered.get(key);
    if (kind === before) return;
    if (before !== undefined) this.#add(before, -1);
    if (kind === undefined) {
      this.#uncovered.delete(key);
    } else {
      this.#uncovered.set(key, kind);
      this.#add(kind, 1);
    }
  }

  /** Uncovered pods by kind of workload. */
  get byKind(): ReadonlyMap<string, number> {
    return this.#byKind;
  }

  /** Uncovered pods. */
  get size(): number {
    return this.#uncovered.size;
  }

  /** Up to `max` uncovered pods as "namespace/name (kind)", one for each namespace and kind as far as it finds them. */
  some(max: number): readonly string[] {
    const found = new Map<string, string>();
    let searched = 0;
    for (const [key, kind] of this.#uncovered) {
      if (found.size >= max || searched >= searchedMax) break;
      searched += 1;
      const group = `${key.slice(0, key.indexOf("/"))} ${kind}`;
      if (!found.has(group)) found.set(group, `${key} (${kind})`);
    }
    return [...found.values()];
  }

  #podEvent(event: InformerEvent<PodRecord>): void {
    if (event.type === "modified" && isAsBefore(event.object, event.previous)) return;
    this.recheck(event.object.key);
  }

  #lacksCover(pod: PodRecord): boolean {
    if (pod.isTerminating || pod.isTerminal) return false;
    if (pod.workloadKind !== undefined && exemptKinds.has(pod.workloadKind)) return false;
    const { excludedNamespaces, dummyPod } = this.#options;
    if (excludedNamespaces.has(pod.namespace)) return false;
    if (pod.name === dummyPod.name && pod.namespace === dummyPod.namespace) return false;
    return !this.#tables.some((table) => table.protects(pod));
  }

  #add(kind: string, by: number): void {
    this.#byKind.set(kind, (this.#byKind.get(kind) ?? 0) + by);
  }
}

/** In all that this looks at. Equal label sets are mostly one object. */
function isAsBefore(pod: PodRecord, previous: PodRecord): boolean {
  return (
    pod.labels === previous.labels &&
    pod.isTerminating === previous.isTerminating &&
    pod.isTerminal === previous.isTerminal &&
    pod.workloadKind === previous.workloadKind
  );
}
