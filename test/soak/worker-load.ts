/**
 * What goes on in a worker cluster: changes of pods at a steady rate, what rolling updates make of them included, pods
 * whose containers fail for a second, and people who delete and evict. Also what was available when, for FloorWatch.
 */
import {
  asArray,
  asObject,
  builtInResources as types,
  type Engine,
  isApiError,
  type KubeObject,
} from "../double/index.ts";
import { isActive, readySinceMs } from "../double/controllers/pod-status.ts";
import { ObjectCache } from "../double/controllers/object-cache.ts";
import { type Rng, uniform } from "../../src/util/rng.ts";
import { type AvailabilityChange, type SeenChanges } from "./checks/floors.ts";
import { type PodCount } from "./checks/counts.ts";
import { namespaces, unsteady } from "./workloads.ts";

const tickMs = 50;
/** What a busy machine could not do is made up for later, up to this many seconds of it. */
const debtSecondsMax = 2;
/** A process that ran late makes up for it beside its other work, not before it. */
const touchesPerTickMax = 20;
/** Each is one deletion or eviction. */
const deletionsPerSecond = 1;
/** One in so many changes is a container that fails. */
const failureEvery = 40;
const failureMs = 1_000;
/** A person who was refused goes away. */
const person = { username: "somebody", groups: ["system:authenticated"] };

export class WorkerLoad {
  readonly #engine: Engine;
  readonly #rng: Rng;
  readonly #pods: ObjectCache;
  readonly #available = new Map<string, Set<string>>();
  #changes: AvailabilityChange[] = [];
  #events = 0;
  #timer: NodeJS.Timeout | undefined;
  #turn = 0;
  #deletions = 0;
  readonly #failing = new Set<string>();
  /** Evictions need an answer of the cluster's API, which a sick one does not give. */
  isSick = false;

  constructor(engine: Engine, rng: Rng) {
    this.#engine = engine;
    this.#rng = rng;
    this.#pods = new ObjectCache(engine, types.pods);
    this.#pods.subscribe((pod, gone) => this.#changed(pod, gone));
    this.#pods.start();
  }

  /** Changes of pods so far. */
  get events(): number {
    return this.#events;
  }

  /** Deletions and evictions that people asked for. */
  get deletions(): number {
    return this.#deletions;
  }

  /** Pods by `namespace/workload`. */
  counts(): ReadonlyMap<string, PodCount> {
    const counts = new Map<string, PodCount>();
    for (const pod of this.#engine.list(types.pods).items) {
      const { total, available } = counts.get(workloadOf(pod)) ?? { total: 0, available: 0 };
      counts.set(workloadOf(pod), { total: total + 1, available: available + (isAvailable(pod) ? 1 : 0) });
    }
    return counts;
  }

  /** What was seen since the last call. */
  takeChanges(): SeenChanges {
    const changes = this.#changes;
    this.#changes = [];
    return { untilMs: machineMs(), changes };
  }

  /** Goes on until `stop`. */
  start(eventsPerSecond: number): void {
    const startMs = performance.now();
    let debt = 0;
    let paidEvents = this.#events;
    let paidMs = startMs;
    let wantedDeletions = 0;
    const tick = (): void => {
      const nowMs = performance.now();
      const seconds = (nowMs - paidMs) / 1000;
      debt = Math.min(debt + seconds * eventsPerSecond - (this.#events - paidEvents), debtSecondsMax * eventsPerSecond);
      wantedDeletions = Math.min(wantedDeletions + seconds * deletionsPerSecond, debtSecondsMax);
      paidEvents = this.#events;
      paidMs = nowMs;
      const targets = [...this.#pods.values()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      for (let left = Math.min(Math.floor(debt), touchesPerTickMax); left > 0; left -= 1) this.#touch(targets);
      for (; wantedDeletions >= 1; wantedDeletions -= 1) this.#delete(targets);
    };
    this.#timer = setInterval(tick, tickMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** No container is failing any more. */
  get isSteady(): boolean {
    return this.#failing.size === 0;
  }

  #touch(targets: readonly KubeObject[]): void {
    const pod = this.#pick(targets);
    this.#turn += 1;
    if (pod === undefined) return;
    if (this.#turn % failureEvery === 0) this.#fail(targets);
    else this.#patchStatus(pod, { message: `beat ${this.#turn}` });
  }

  #fail(targets: readonly KubeObject[]): void {
    const pod = this.#pick(
      targets.filter((one) => workloadOf(one) === `${namespaces.shop}/${unsteady}` && isAvailable(one)),
    );
    if (pod === undefined || this.#failing.has(pod.metadata.uid)) return;
    const { uid } = pod.metadata;
    this.#failing.add(uid);
    this.#patchStatus(pod, { conditions: withReady(pod, "False") });
    setTimeout(() => {
      this.#failing.delete(uid);
      this.#patchStatus(pod, { conditions: withReady(pod, "True") });
    }, failureMs);
  }

  #delete(targets: readonly KubeObject[]): void {
    const pod = this.#pick(
      targets.filter((one) => one.metadata.namespace === namespaces.shop && one.metadata.labels?.["app"] !== unsteady),
    );
    if (pod === undefined) return;
    this.#deletions += 1;
    const { namespace = "", name } = pod.metadata;
    const caller = { caller: person };
    const isEviction = this.#deletions % 2 === 0 && !this.isSick;
    this.#quietly(
      isEviction
        ? this.#engine.evict(namespace, name, undefined, caller)
        : this.#engine.delete(types.pods, namespace, name, {}, caller),
    );
  }

  #patchStatus({ metadata }: KubeObject, status: Record<string, unknown>): void {
    const { namespace, name, uid } = metadata;
    const patch = { contentType: "application/merge-patch+json", body: { metadata: { uid }, status } };
    this.#quietly(this.#engine.patch(types.pods, namespace, name, patch, { subresource: "status" }));
  }

  /** What the API refuses is refused: the pod has gone, the webhook has said no. */
  #quietly(request: Promise<unknown>): void {
    request.catch((error: unknown) => {
      if (!isApiError(error)) throw error;
    });
  }

  #pick(pods: readonly KubeObject[]): KubeObject | undefined {
    return pods[Math.floor(uniform(this.#rng, 0, pods.length))];
  }

  #changed(pod: KubeObject, gone: boolean): void {
    this.#events += 1;
    const service = workloadOf(pod);
    const uids = this.#available.get(service) ?? new Set<string>();
    const isNow = !gone && isAvailable(pod);
    if (uids.has(pod.metadata.uid) === isNow) return;
    if (isNow) uids.add(pod.metadata.uid);
    else uids.delete(pod.metadata.uid);
    // A workload that has left would stay for ever.
    if (uids.size === 0) this.#available.delete(service);
    else this.#available.set(service, uids);
    this.#changes.push({ atMs: machineMs(), service, by: isNow ? 1 : -1 });
  }
}

/** The monotonic clock that all processes of the machine share. */
function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function workloadOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.labels?.["app"] ?? ""}`;
}

function isAvailable(pod: KubeObject): boolean {
  return isActive(pod) && readySinceMs(pod) !== undefined;
}

function withReady(pod: KubeObject, status: "True" | "False"): readonly unknown[] {
  return asArray(pod.status?.["conditions"]).map((condition) =>
    asObject(condition)["type"] === "Ready" ? { ...asObject(condition), status } : condition,
  );
}
