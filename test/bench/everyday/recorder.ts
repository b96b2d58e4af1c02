/**
 * What happens to the workloads of one namespace during a run: pods, floors by the workloads' own specs, PodProtectors
 * as watches show them, and deletions as the API server's audit log has them. All on the wall clock, which is that of
 * the audit log.
 */
import { type PodProtector } from "../../../src/api/v1alpha1/pod-protector.ts";
import { sourceKindOf } from "../../../src/sources/index.ts";
import { readAuditEvents } from "../../e2e/clusters/audit-log.ts";
import { type KubeObject, type ObjectList } from "../../e2e/clusters/admin-client.ts";
import { type Cluster } from "../../e2e/clusters/cluster.ts";
import { PodWatch } from "../../e2e/objects/pod-watch.ts";
import { isServing, type Pod } from "../../e2e/objects/pods.ts";
import { quantile } from "../row.ts";
import { type AskedDeletion, type LogEntry, unnecessaryRefusals } from "./refusals.ts";

/** The label of pods and of what makes them. */
export const workloadLabel = "workload";

/** What one run has cost. */
export interface Costs {
  readonly admitted: number;
  readonly refused: number;
  readonly unnecessary: number;
  readonly statusWrites: number;
  /** From the request to its answer. */
  readonly longestDeletionMs: number;
  /** From the answer to a deletion until it takes no quota any more, or until now; NaN when none took any. */
  readonly quotaBackP50Ms: number;
}

interface Workload extends KubeObject {
  readonly spec: unknown;
}

/** The flags' defaults (docs/flags.md). */
const floorRule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;
const sources = { deployments: sourceKindOf("deployments.apps"), statefulsets: sourceKindOf("statefulsets.apps") };
const protectors = "apis/podseidon.kubewharf.io/v1alpha1";
/** No row takes so long. A watch of a kind without any change gets no bookmark: PodProtectors without Podseidon. */
const watchIdleMs = 900_000;

export class Recorder {
  readonly #cluster: Cluster;
  readonly #namespace: string;
  readonly #abort = new AbortController();
  readonly #log: LogEntry[] = [];
  readonly #pods: PodWatch;
  readonly #watches: readonly Promise<void>[];
  /** Status writes, when each was seen. */
  readonly #writtenAtMs: number[] = [];
  /** UIDs of pods that take quota, by PodProtector, and since when they do not any more. */
  readonly #holding = new Map<string, ReadonlySet<string>>();
  readonly #backAtMs = new Map<string, number>();
  readonly #statuses = new Map<string, string>();
  #failure: unknown;

  /** Starts at once. */
  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    const { admin } = cluster;
    this.#pods = new PodWatch({ admin, namespace, onPod: (pod, isGone) => this.#sawPod(pod, isGone) });
    this.#watches = [
      ...(["deployments", "statefulsets"] as const).map((kind) =>
        this.#watch<Workload>("apis/apps/v1", kind, (workload) => this.#sawWorkload(kind, workload)),
      ),
      this.#watch<PodProtector & KubeObject>(
        protectors,
        "podprotectors",
        (object) => this.#sawProtector(object),
        ({ metadata }) => this.#holding.delete(metadata.name),
      ),
    ].map((watch) => watch.catch((error: unknown) => void (this.#failure ??= error)));
  }

  get servingCount(): number {
    return this.#pods.servingCount;
  }

  pods(): readonly Pod[] {
    return this.#pods.pods();
  }

  /** By the last spec that was seen; undefined = not seen yet. */
  floorOf(workload: string): number | undefined {
    const last = this.#log.findLast((entry) => entry.kind === "floor" && entry.workload === workload);
    return last?.kind === "floor" ? last.floor : undefined;
  }

  /** Some admitted deletion still takes quota. */
  get isHolding(): boolean {
    return this.#holding.values().some(({ size }) => size > 0);
  }

  /** What the time from `fromMs` on has cost. Throws when a watch was lost, because nothing can be said then. */
  costs(fromMs: number): Costs {
    if (this.#failure !== undefined) throw new Error("a watch of the run was lost", { cause: this.#failure });
    const deletions = this.#deletions().filter((deletion) => deletion.fromMs >= fromMs);
    const admitted = deletions.filter(({ outcome }) => outcome === "admitted");
    const backMs = admitted.flatMap((deletion) => {
      const uid = this.#uidOf(deletion);
      const isHeld = this.#holding.values().some((uids) => uids.has(uid));
      const backAtMs = isHeld ? Date.now() : this.#backAtMs.get(uid);
      return backAtMs === undefined ? [] : [Math.max(0, backAtMs - deletion.atMs)];
    });
    return {
      admitted: admitted.length,
      refused: deletions.length - admitted.length,
      unnecessary: unnecessaryRefusals([...this.#log, ...deletions]).length,
      statusWrites: this.#writtenAtMs.filter((atMs) => atMs >= fromMs).length,
      longestDeletionMs: Math.max(0, ...deletions.map((deletion) => deletion.atMs - deletion.fromMs)),
      quotaBackP50Ms: quantile(backMs, 0.5),
    };
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.all([this.#pods.stop(), ...this.#watches]);
  }

  /** Of pods of the namespace, by controllers and drains; those by which the fake kubelet ends pods are left out. */
  #deletions(): readonly AskedDeletion[] {
    return readAuditEvents(this.#cluster).flatMap((event): readonly AskedDeletion[] => {
      const { objectRef, verb, user, responseStatus, requestReceivedTimestamp, stageTimestamp } = event;
      if (objectRef?.namespace !== this.#namespace || objectRef.name === undefined) return [];
      const isEviction = verb === "create" && objectRef.subresource === "eviction";
      if (!isEviction && (verb !== "delete" || user.username === "admin")) return [];
      const code = responseStatus?.code ?? 0;
      const outcome = code >= 200 && code < 300 ? "admitted" : code === 403 || code === 429 ? "refused" : undefined;
      if (outcome === undefined) return []; // the pod is gone, or has changed
      const [fromMs, atMs] = [Date.parse(requestReceivedTimestamp), Date.parse(stageTimestamp)];
      return [{ kind: "deletion", name: objectRef.name, fromMs, atMs, outcome }];
    });
  }

  /** Of the pod that had this name when its deletion was asked for. */
  #uidOf({ name, fromMs }: AskedDeletion): string {
    const pod = this.#log.findLast((entry) => entry.kind === "pod" && entry.name === name && entry.atMs <= fromMs);
    return pod?.kind === "pod" ? pod.uid : "";
  }

  #sawPod(pod: Pod, isGone: boolean): void {
    const { name, uid, labels } = pod.metadata;
    const isAvailable = !isGone && isServing(pod);
    this.#log.push({ atMs: Date.now(), kind: "pod", name, uid, workload: labels?.[workloadLabel] ?? "", isAvailable });
  }

  #sawWorkload(kind: keyof typeof sources, { metadata, spec }: Workload): void {
    const floor = sources[kind].readSpec(spec)?.floorBy(floorRule).minAvailable;
    if (floor === undefined || floor === this.floorOf(metadata.name)) return;
    this.#log.push({ atMs: Date.now(), kind: "floor", workload: metadata.name, floor });
  }

  #sawProtector({ metadata, status }: PodProtector & KubeObject): void {
    const text = JSON.stringify(status);
    if (this.#statuses.get(metadata.name) === text) return;
    this.#statuses.set(metadata.name, text);
    const atMs = Date.now();
    this.#writtenAtMs.push(atMs);
    const buckets = (status?.cells ?? []).flatMap(({ admissionHistory }) => admissionHistory?.buckets ?? []);
    // More than --compact-threshold at once would be packed, but no row has so many.
    const holding = new Set(buckets.flatMap(({ podUID }) => podUID ?? []));
    for (const uid of this.#holding.get(metadata.name) ?? []) if (!holding.has(uid)) this.#backAtMs.set(uid, atMs);
    this.#holding.set(metadata.name, holding);
  }

  /** Lists and watches until the run is over. A watch that ends before takes what it would have shown with it. */
  async #watch<T extends KubeObject>(
    group: string,
    resource: string,
    saw: (object: T) => void,
    gone: (object: T) => void = () => {},
  ): Promise<void> {
    const { admin } = this.#cluster;
    const { signal } = this.#abort;
    const path = `/${group}/namespaces/${this.#namespace}/${resource}`;
    const { items, metadata } = await admin.get<ObjectList<T>>(path);
    for (const item of items) saw(item);
    try {
      for await (const { type, object } of admin.watch<T>(path, {
        resourceVersion: metadata.resourceVersion,
        signal,
        idleMs: watchIdleMs,
      })) {
        if (type === "ERROR") throw new Error(`the watch of ${resource} is too old`);
        if (type === "ADDED" || type === "MODIFIED") saw(object);
        if (type === "DELETED") gone(object);
      }
      throw new Error(`the watch of ${resource} has ended`);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
