/**
 * The part of an aggregator that counts its cell into one core: the PodProtectors of the core, their counts, the
 * heartbeat of the cell there. Cores share the cell's pods and its leader election, and nothing else: one that is away,
 * slow or wiped keeps no other waiting (docs/aggregator.md#several-cores).
 */
import { type PodRecord } from "../../api/pod.ts";
import {
  Aggregator,
  type AggregatorMetrics,
  CellClaim,
  CellLeaseWriter,
  type Coverage,
  createAggregatorMetrics,
  createHeartbeatMetrics,
  Heartbeat,
  ProtectorWatch,
  Tenure,
} from "../../aggregator/index.ts";
import { oldestAges } from "../../accounting/history/oldest-open.ts";
import { fullestOf } from "../../accounting/history/record.ts";
import { type SyncTime } from "../../accounting/settle/sync-time.ts";
import { silenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { listBarrier } from "../../kube/watch/index.ts";
import { podProtectors, pods as podResource, type StoredProtector } from "../../kube/resources.ts";
import { isReleased } from "../../api/v1alpha1/pod-protector.ts";
import { aborted } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { type Clock, type MonotonicMs } from "../../util/clock.ts";
import { type CellAlarms } from "./cell-alarms.ts";
import { type ConnectedCore, coreMetrics, coreSuffix, type Runtime } from "../runtime.ts";
import { createProtectorInformer, syncCheck, whenSynced } from "../informers.ts";
import { type SharedWork } from "../leadership.ts";

/** A deposed leader stops within the duration of the Lease, and the last request that it has sent ends soon after. */
const leasesPerOverlap = 2;
/** A beat is of no use when the next one is overdue. */
const beatsPerTimeout = 2;

export interface CoreCountingParts {
  readonly core: ConnectedCore;
  /** The core's client for heartbeats. */
  readonly heartbeatClient: KubeClient;
  readonly worker: KubeClient;
  readonly pods: Informer<PodRecord>;
  readonly coverage: Pick<Coverage, "addTable" | "recheck">;
  readonly syncTime: SyncTime;
  /** Makes an event in the cell if it can. */
  readonly touch: () => void;
  /** Of the leader election. */
  readonly identity: string;
  /** They say what is wrong with the gate. */
  readonly alarms: Pick<CellAlarms, "eventsOf" | "gate">;
  /** Runs while the cell is ours in any core. */
  readonly shared: SharedWork;
  readonly logger: Logger;
}

export class CoreCounting {
  readonly #parts: CoreCountingParts;
  readonly #protectors: Informer<StoredProtector>;
  readonly #aggregator: Aggregator;
  readonly #heartbeat: Heartbeat;
  readonly #protectorWatch: ProtectorWatch;
  readonly #tenure: Tenure;
  #synced: Promise<void> = Promise.resolve();

  /** Create before the informer of pods runs. */
  constructor(runtime: Runtime, parts: CoreCountingParts) {
    const { clock, config, health, rng } = runtime;
    const { core, worker, pods, coverage, syncTime, touch } = parts;
    const logger = parts.logger.with({ core: core.name });
    const aggregatorMetrics = createAggregatorMetrics(coreMetrics(runtime, core.name));
    this.#parts = parts;
    this.#protectors = createProtectorInformer(runtime, core, logger);
    this.#aggregator = new Aggregator(
      {
        ...config.aggregator,
        ...runtime.limits?.fences,
        history: config.history,
        syncTime,
        hasBeenUp: runtime.hasBeenUp,
      },
      {
        core: core.client,
        worker,
        protectors: this.#protectors,
        pods,
        coverage,
        listBarrier: (signal) => listBarrier(worker, podResource, config.worker.namespace, { signal }),
        touch,
        clock,
        rng,
        logger,
        metrics: aggregatorMetrics,
      },
    );
    const { heartbeat, protectorWatch, tenure } = createHeartbeat(runtime, parts, this.#aggregator, this.#protectors);
    this.#heartbeat = heartbeat;
    this.#protectorWatch = protectorWatch;
    this.#tenure = tenure;
    runtime.metrics.onScrape(() => this.#measure(aggregatorMetrics, clock));
    const component = `aggregator-worker${coreSuffix(config, core.name)}`;
    const areListed = syncCheck(`PodProtectors of ${core.name}`, this.#protectors);
    health.register(`${component}/ppr-informer-synced`, areListed);
    // Upstream's webhook and aggregator have one informer, and one check, of this name between them.
    const indexed = `podprotector-indexed-informer-${config.cores.size === 1 ? "" : core.name}`;
    if (!config.roles.has("webhook")) {
      health.register(`${indexed}/informers-synced`, areListed);
      // A rolling update keeps the former replica until this one can count everything. A webhook waits for nothing.
      health.register(`${component}/first-counts`, () => this.#aggregator.startProblem());
    }
    health.register(`${component}/cell-claim`, () => tenure.problem());
  }

  /** Of the cell's Lease in this core, where it is known. */
  get leaseUID(): string | undefined {
    return this.#heartbeat.leaseUID;
  }

  /** The update-trigger's touch, sent at `sentAtMs`, was carried out. */
  touched(sentAtMs: MonotonicMs): void {
    this.#aggregator.touched(sentAtMs);
    this.#heartbeat.touched(sentAtMs);
  }

  /** Resolves when the PodProtectors have been listed, or when the watch has ended. */
  get synced(): Promise<void> {
    return this.#synced;
  }

  /** Whether the PodProtectors have been listed. */
  get hasSynced(): boolean {
    return this.#protectors.hasSynced();
  }

  /** Namespaces of PodProtectors that want pods to stay, with repeats. */
  *namespacesWithFloors(): Iterable<string> {
    for (const { protector } of this.#protectors.values())
      if (protector.spec.minAvailable > 0 && !isReleased(protector)) yield protector.metadata.namespace;
  }

  /** PodProtectors that want pods to stay and match none, core/namespace/name. */
  *unmatched(): Iterable<string> {
    for (const key of this.#aggregator.unmatched()) yield `${this.#parts.core.name}/${key}`;
  }

  /** Watches the PodProtectors until the signal aborts. */
  watch(signal: AbortSignal): Promise<void> {
    this.#synced = whenSynced(this.#protectors, signal);
    this.#protectorWatch.starting();
    return this.#protectors.run(signal);
  }

  /** Call right before the informer of pods runs. */
  podsStarting(): void {
    this.#aggregator.podsStarting();
  }

  /** Counts while leading, as soon as the PodProtectors of this core are known, until the signal aborts. */
  async lead(leadership: AbortSignal): Promise<void> {
    await Promise.race([this.#synced, aborted(leadership)]);
    await this.#tenure.run(leadership, async (term, takesOver) => {
      this.#protectorWatch.barriers.start(term);
      await Promise.all([
        this.#aggregator.lead(term, takesOver),
        this.#aggregator.selfCheck.run(term),
        this.#heartbeat.run(term),
        this.#parts.shared.during(term),
      ]);
    });
  }

  /** Sets the gauges that are computed for each scrape. */
  #measure(to: AggregatorMetrics, clock: Clock): void {
    const { pods } = this.#parts;
    to.setSizes(this.#aggregator.sizes());
    to.fullestHistory.set({}, fullestOf(this.#aggregator.histories()));
    to.setOldestOpen(oldestAges(this.#aggregator.histories(), clock.epochMicros()));
    if (!pods.hasSynced()) return;
    to.snapshotAge.set({}, pods.stalenessMs() / 1000);
    if (this.hasSynced) to.unmatchedProtectors.set({}, Iterator.from(this.#aggregator.unmatched()).toArray().length);
  }
}

/**
 * The heartbeat of the cell in this core, and the watch of PodProtectors that it vouches for. Call before the informer
 * of these runs.
 */
function createHeartbeat(
  runtime: Runtime,
  parts: CoreCountingParts,
  aggregator: Aggregator,
  protectors: Informer<StoredProtector>,
): { readonly heartbeat: Heartbeat; readonly protectorWatch: ProtectorWatch; readonly tenure: Tenure } {
  const { config, clock, rng, productVersion } = runtime;
  const { heartbeatClient: client, worker, identity, alarms, logger } = parts;
  const { name: core, namespace } = parts.core;
  const { leaseNamespace, silentAfterMs } = config.cells;
  const { cellID, elector, settleWindowMs } = config.aggregator;
  const times = silenceTimes(silentAfterMs);
  const metrics = createHeartbeatMetrics(coreMetrics(runtime, core));
  const protectorWatch = new ProtectorWatch({
    protectors,
    listBarrier: (signal) => listBarrier(client, podProtectors, namespace, { signal }),
    clock,
    logger: logger.with({ core }),
    historyResets: metrics.coreResets,
  });
  const writer = new CellLeaseWriter({
    client,
    namespace: leaseNamespace,
    cellID,
    identity,
    productVersion,
    silentAfterMs,
    timeoutMs: beatsPerTimeout * times.beatMs,
    clock,
  });
  const shared = { core, times, writer, clock, logger, metrics };
  const tenure = new Tenure({
    ...shared,
    cellID,
    namespace: leaseNamespace,
    worker,
    claim: new CellClaim({
      identity,
      times,
      overlapMs: elector.enable ? leasesPerOverlap * elector.leaseDurationMs : undefined,
    }),
    events: alarms.eventsOf(core),
  });
  const heartbeat = new Heartbeat({
    ...shared,
    tenure,
    pods: aggregator.podWatch,
    protectors: protectorWatch.barriers,
    backlog: aggregator.backlog,
    gate: alarms.gate,
    settleWindowMs,
    rng,
  });
  runtime.metrics.onScrape(() => metrics.setAge(core, heartbeat.ageMs()));
  return { heartbeat, protectorWatch, tenure };
}
