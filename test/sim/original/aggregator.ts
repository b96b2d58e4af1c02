/**
 * The aggregator of the Go original with its algorithm `clock`: an admission is forgotten when an event of the cell was
 * handled after it, whatever that event was about.
 */
import { formatMicroTime, parseTime } from "../../../src/api/micro-time.ts";
import { type PodRecord, readPodRecord } from "../../../src/api/pod.ts";
import { type ObjectKey } from "../../../src/api/object-key.ts";
import { type Informer } from "../../../src/kube/informer.ts";
import { isKubeError, type KubeClient } from "../../../src/kube/kube-client.ts";
import { pods as podResource, type StoredProtector } from "../../../src/kube/resources.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { compileSelector, matches } from "../../../src/label-index/index.ts";
import { type Component, createBackground } from "../../../src/lifecycle/component.ts";
import { connectCores, type Runtime } from "../../../src/roles/runtime.ts";
import { createProtectorInformer } from "../../../src/roles/informers.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { cellsOf, type GoBucket, type GoCell, putStatus } from "./status.ts";

const conflictDelayMs = 10;
const failureDelayMs = 1_000;

export async function createOriginalAggregator(runtime: Runtime): Promise<Component[]> {
  const [core] = await connectCores(runtime);
  if (core === undefined) throw new Error("an original aggregator has one core");
  const { clock, rng, logger, metrics } = runtime;
  const common = { clock, rng, logger, metrics };
  const protectors = createProtectorInformer(runtime, core, logger);
  const decode = (raw: unknown): PodRecord | undefined => readPodRecord(raw);
  const client = await runtime.clients.worker();
  const pods = createInformer({ ...common, client, resource: podResource, decode, name: "pods", namespace: undefined });
  new Counting(runtime, core.client, protectors, pods).follow();
  return [
    createBackground("original-aggregator", async (signal) => {
      await Promise.all([protectors.run(signal), pods.run(signal)]);
    }),
  ];
}

class Counting {
  readonly #runtime: Runtime;
  readonly #client: KubeClient;
  readonly #protectors: Informer<StoredProtector>;
  readonly #pods: Informer<PodRecord>;
  /** Waiting to be counted. */
  readonly #queued = new Set<ObjectKey>();
  /** Counted when the next event comes. */
  readonly #pool = new Set<ObjectKey>();
  #lastEvent: EpochMicros | undefined;

  constructor(runtime: Runtime, client: KubeClient, protectors: Informer<StoredProtector>, pods: Informer<PodRecord>) {
    this.#runtime = runtime;
    this.#client = client;
    this.#protectors = protectors;
    this.#pods = pods;
  }

  follow(): void {
    this.#protectors.subscribe({ onEvent: ({ object }) => this.#later(object.key) });
    this.#pods.subscribe({
      onEvent: ({ object }) => {
        this.#lastEvent = this.#runtime.clock.epochMicros();
        const touched = [...this.#protectors.values()].filter((stored) => selects(stored, object));
        for (const { key } of touched) this.#pool.add(key);
        const keys = [...this.#pool];
        this.#pool.clear();
        for (const key of keys) this.#later(key);
      },
    });
  }

  /** The first time that was set stays. */
  #later(key: ObjectKey, delayMs?: number): void {
    if (this.#queued.has(key)) return;
    this.#queued.add(key);
    const { clock, rng, config } = this.#runtime;
    const rate = config.history.aggregationRateMs * (0.5 + 0.5 * rng.next());
    clock.setTimer(delayMs ?? rate, () => {
      this.#queued.delete(key);
      void this.#count(key);
    });
  }

  async #count(key: ObjectKey): Promise<void> {
    const stored = this.#protectors.get(key);
    if (stored === undefined) return;
    const { clock, config } = this.#runtime;
    const { cellID } = config.aggregator;
    const relevant = [...this.#pods.values()].filter((pod) => !pod.isTerminating && selects(stored, pod));
    const cells = cellsOf(stored.protector);
    let own = cells.find((cell) => cell.cellID === cellID);
    if (own === undefined) {
      own = { cellID, aggregation: { totalReplicas: -1, availableReplicas: 0 }, buckets: [] };
      cells.push(own);
    }
    const { minReadySeconds } = stored.protector.spec;
    const isOld = ({ readySince }: PodRecord): boolean =>
      readySince !== undefined && readySince + minReadySeconds * 1e6 <= clock.epochMicros();
    const counts = {
      totalReplicas: relevant.length,
      availableReplicas: relevant.filter((pod) => pod.isReady && isOld(pod)).length,
      readyReplicas: relevant.filter(({ isReady }) => isReady).length,
      scheduledReplicas: relevant.filter(({ isScheduled }) => isScheduled).length,
      runningReplicas: relevant.filter(({ isRunning }) => isRunning).length,
    };
    const before = own.aggregation;
    // Read after the counts, as the original does.
    const lastEvent = this.#lastEvent;
    if (lastEvent === undefined) return this.#later(key, failureDelayMs);
    const kept = own.buckets.filter((bucket) => isOutstanding(bucket, lastEvent));
    if (kept.length > 0) this.#pool.add(key);
    if (relevant.some((pod) => pod.isReady && !isOld(pod))) this.#later(key, 1_000);
    if (kept.length === own.buckets.length && isSame(before, counts)) return;
    own.aggregation = { ...counts, lastEventTime: formatMicroTime(lastEvent) };
    own.buckets = kept;
    await putStatus(this.#client, stored, cells).catch((error: unknown) =>
      this.#later(key, isKubeError(error, "conflict") ? conflictDelayMs : failureDelayMs),
    );
  }
}

function isOutstanding({ startTime, endTime, podUID }: GoBucket, lastEvent: EpochMicros): boolean {
  const reference = parseTime(podUID === undefined ? endTime : startTime);
  return reference === undefined || reference >= lastEvent;
}

function isSame(before: GoCell["aggregation"], counts: Omit<GoCell["aggregation"], "lastEventTime">): boolean {
  return Object.entries(counts).every(([name, count]) => (before[name as keyof typeof counts] ?? 0) === count);
}

/** It counts and protects by one and the same selector. */
export function selects(
  { protector }: StoredProtector,
  { namespace, labels }: Pick<PodRecord, "namespace" | "labels">,
): boolean {
  const { selector, aggregationSelector } = protector.spec;
  const compiled = compileSelector(aggregationSelector ?? selector);
  return compiled.ok && namespace === protector.metadata.namespace && matches(compiled.selector, labels);
}
