// length: the comments were wrapped at 120 columns; the file is split along its ideas next.
/**
 * The aggregator of one cell and one core: pod events and PodProtector events in, status writes out (design 2.3, 2.4,
 * 5).
 *
 * The caches are always warm; only the leader's work queue runs, so that a fail-over is one write away. An event
 * enqueues the PodProtectors that it touches after a delay of aggregationRate * U[low, high); at most one aggregation
 * per period and object.
 */
import { type PodRecord } from "../api/pod.ts";
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { countedSpec } from "../accounting/count/counted-spec.ts";
import { FenceRegistry } from "../accounting/settle/fence-registry.ts";
import { type HistoryConfig, historyConfigOf } from "../accounting/history/history-config.ts";
import { type SettlementConfig } from "../accounting/settle/settlement.ts";
import { type Snapshot } from "../accounting/settle/snapshot.ts";
import { type SyncTime } from "../accounting/settle/sync-time.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng, uniform } from "../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";
import { compareResourceVersions, type ResourceVersion } from "../api/resource-version.ts";
import { BarrierTracker } from "./barrier.ts";
import { CellPods } from "./cell-pods.ts";
import { Fencer } from "./fencer.ts";
import { MatchTable } from "./match-table.ts";
import { type AggregatorMetrics, type AggregatorSizes, outcomeLabel } from "./metrics.ts";
import { ProtectorState } from "./protector-state.ts";
import { PruningReport } from "./pruning-report.ts";
import { reconcileProtector } from "./reconcile.ts";
import { WallClockSteps } from "./wall-clock-steps.ts";

/** Fences are forgotten after this many settle windows: the longest wait between two of one pod is one window. */
const fenceIdleWindows = 4;

export interface AggregatorConfig extends SettlementConfig {
  readonly cellID: string;
  readonly syncTime: SyncTime;
  readonly history: HistoryConfig;
  /** PodProtectors that do not match are left alone. */
  readonly protectorSelector: LabelSelector;
  readonly rateJitterLow: number;
  readonly rateJitterHigh: number;
  readonly workerConcurrency: number;
  readonly workerBackoffBaseMs: number;
  readonly workerBackoffMaxMs: number;
  readonly workerBackoffConflictMs: number;
}

export interface AggregatorDependencies {
  readonly core: KubeClient;
  readonly worker: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  readonly pods: Informer<PodRecord>;
  /** Sends a LIST of the cell's pods with resourceVersion unset and limit 1. */
  readonly listBarrier: (signal: AbortSignal) => Promise<ResourceVersion>;
  /** Makes an event in the cell if it can (update-trigger), so that a barrier is passed soon. */
  readonly touch: () => void;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: AggregatorMetrics;
}

export class Aggregator {
  readonly config: AggregatorConfig;
  readonly deps: AggregatorDependencies;
  readonly cellPods: CellPods;
  readonly matchTable = new MatchTable();
  readonly fences: FenceRegistry;
  readonly fencer: Fencer;
  readonly barriers: BarrierTracker;
  readonly pruning: PruningReport;
  readonly #wallClockSteps: WallClockSteps;
  readonly #protectorSelector: CompiledSelector;
  readonly #states = new Map<string, ProtectorState>();
  /** PodProtectors that look again when the watch has moved: upstream's next-event pool. */
  readonly #nextEventPool = new Set<string>();
  /** PodProtectors that look again when a barrier has been passed. */
  readonly #barrierPool = new Set<string>();
  /** PodProtectors that look again when a fence of a pod UID has been answered. */
  readonly #fencePool = new Map<string, Set<string>>();
  #lastDrainMs: number | undefined;
  #fencesPrunedAtMs: number;
  /**
   * When the worker's history was found reset, until the new list has arrived: the snapshot belongs to the former
   * history.
   */
  #resetAtMs: number | undefined;
  #podsStartedAtMs: number | undefined;
  #queue: WorkQueue<string> | undefined;

  constructor(config: AggregatorConfig, deps: AggregatorDependencies) {
    this.config = config;
    this.deps = deps;
    const compiled = compileSelector(config.protectorSelector);
    assert(compiled.ok, "the configuration has checked the selector of PodProtectors");
    this.#protectorSelector = compiled.selector;
    this.#fencesPrunedAtMs = deps.clock.monotonicMs();
    this.#wallClockSteps = new WallClockSteps(deps.clock);
    this.pruning = new PruningReport({ ...deps, onPruned: () => deps.metrics.pruned(deps.core.cluster) });
    this.cellPods = new CellPods(deps.pods, deps.clock, config.syncTime);
    this.fences = new FenceRegistry(config.fenceDelayMs, config.settleWindowMs);
    this.fencer = new Fencer({
      client: deps.worker,
      registry: this.fences,
      clock: deps.clock,
      rng: deps.rng,
      logger: deps.logger,
      fences: deps.metrics.fences,
      onAnswered: (podUID) => {
        const keys = this.#fencePool.get(podUID);
        this.#fencePool.delete(podUID);
        if (keys !== undefined) this.#drain(keys);
      },
    });
    this.barriers = new BarrierTracker({
      clock: deps.clock,
      list: deps.listBarrier,
      onPassed: () => this.#barrierPassed(),
      onWaiting: deps.touch,
      onWentBack: (version) => this.#snapshotWentBack(version),
      onHistoryReset: (details) => this.#workerReset(details),
      onError: (error) => deps.logger.warn("cannot list pods for a barrier", { err: error }),
    });
    deps.pods.subscribe({
      onEvent: (event) => this.#podEvent(event),
      onProgress: (version) => this.#progress(version),
      onListed: (first) => this.#podsListed(first),
    });
    deps.protectors.subscribe({
      onEvent: (event) => this.#protectorEvent(event),
      onListed: (first) => {
        if (first) return;
        const nowMs = deps.clock.monotonicMs();
        for (const [key, state] of this.#states) {
          state.relisted(nowMs);
          this.#enqueue(key);
        }
      },
    });
  }

  /** True when counting can begin. */
  hasSynced(): boolean {
    return this.deps.protectors.hasSynced() && this.deps.pods.hasSynced();
  }

  /** The work of the leader, until the signal aborts; resolves when what was begun has ended. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, rng, metrics, logger } = this.deps;
    this.barriers.start(signal);
    this.#queue = createWorkQueue<string>({
      clock,
      rng,
      concurrency: this.config.workerConcurrency,
      backoffBaseMs: this.config.workerBackoffBaseMs,
      backoffMaxMs: this.config.workerBackoffMaxMs,
      conflictBackoffMs: this.config.workerBackoffConflictMs,
      process: (key, queueSignal) => this.#process(key, queueSignal),
      observer: {
        onReconcile: (durationMs, outcome, key) => {
          const namespace = key.slice(0, key.indexOf("/"));
          metrics.reconcile.observe({ namespace, error: outcomeLabel(outcome) }, durationMs / 1000);
          if (outcome.kind === "failed" && !signal.aborted)
            logger.warn("cannot aggregate a PodProtector, trying again", { podProtector: key, err: outcome.error });
        },
      },
    });
    for (const key of this.#states.keys()) this.#queue.add(key);
    await this.#queue.run(signal);
    this.#queue = undefined;
    // The next term looks at every PodProtector anyway.
    this.#nextEventPool.clear();
    this.#barrierPool.clear();
    this.#fencePool.clear();
  }

  state(key: string): ProtectorState | undefined {
    return this.#states.get(key);
  }

  /**
   * The sizes of what grows and shrinks with the work, for gauges: a leader's; a standby has only the fences of its
   * former terms.
   */
  sizes(): AggregatorSizes {
    return {
      queue: this.#queue?.size ?? 0,
      nextEventPool: this.#nextEventPool.size,
      barrierPool: this.#barrierPool.size,
      fencePool: this.#fencePool.size,
      fences: this.fences.size,
      fencesWaiting: this.fencer.waiting,
    };
  }

  async #process(key: string, signal: AbortSignal): Promise<Outcome> {
    const state = this.#states.get(key);
    const selectorText = this.matchTable.selectorTextOf(key);
    if (state === undefined || selectorText === undefined) return { kind: "done" };
    if (!matches(this.#protectorSelector, state.newest.protector.metadata.labels ?? {})) return { kind: "done" };
    this.#pruneFences();
    const versionBefore = this.#snapshotVersion();
    const pass = await reconcileProtector(this, key, state, selectorText, signal);
    if (pass.historyReset) this.#recordedHistoryReset(key, state);
    // What a pass waits for may have come while it wrote; then nothing would wake the PodProtector any more.
    if (pass.waitsForEvent) {
      if (this.#snapshotVersion() === versionBefore) this.#nextEventPool.add(key);
      else this.#enqueue(key);
    }
    if (pass.barrierFromMs !== undefined) {
      if (this.barriers.passedSentAtMs > pass.barrierFromMs) this.#enqueue(key);
      else this.#barrierPool.add(key);
      this.barriers.want(pass.barrierFromMs);
    }
    this.#requestFences(key, pass.fence, signal);
    return pass.outcome;
  }

  #requestFences(key: string, podUIDs: readonly string[], signal: AbortSignal): void {
    for (const podUID of podUIDs) {
      const pod = this.cellPods.byUID(podUID);
      // What does not fit is asked for again by the next aggregation.
      if (pod === undefined || !this.fencer.request(pod, signal)) continue;
      const waiting = this.#fencePool.get(podUID) ?? new Set();
      this.#fencePool.set(podUID, waiting.add(key));
    }
  }

  #pruneFences(): void {
    const nowMs = this.deps.clock.monotonicMs();
    const { settleWindowMs } = this.config;
    if (nowMs - this.#fencesPrunedAtMs < settleWindowMs) return;
    this.#fencesPrunedAtMs = nowMs;
    this.fences.prune(nowMs, fenceIdleWindows * settleWindowMs);
  }

  #podEvent(event: InformerEvent<PodRecord>): void {
    const startMs = this.deps.clock.monotonicMs();
    this.cellPods.apply(event);
    const keys =
      event.type === "deleted"
        ? this.matchTable.podDeleted(event.object)
        : this.matchTable.podChanged(event.object, event.type === "modified" ? event.previous : undefined);
    for (const key of keys) this.#enqueue(key);
    this.deps.metrics.enqueue.observe(
      { namespace: event.object.namespace, kind: "Pod" },
      (this.deps.clock.monotonicMs() - startMs) / 1000,
    );
  }

  /** The version of a usable snapshot. */
  #snapshotVersion(): ResourceVersion | undefined {
    return this.#resetAtMs !== undefined ? undefined : this.cellPods.version();
  }

  /** The snapshot to count and settle by; undefined while there is none. */
  snapshot(): Snapshot | undefined {
    return this.#resetAtMs !== undefined ? undefined : this.cellPods.snapshot(this.barriers.passedSentAtMs);
  }

  /**
   * Call right before the pod informer runs, with the PodProtectors synced: its first list is consistent, and so a
   * barrier.
   */
  podsStarting(): void {
    this.#podsStartedAtMs = this.deps.clock.monotonicMs();
  }

  #podsListed(first: boolean): void {
    this.cellPods.listed();
    if (first && this.#podsStartedAtMs !== undefined) this.barriers.listed(this.#podsStartedAtMs);
    const resetAtMs = this.#resetAtMs;
    if (first || resetAtMs === undefined) return;
    this.#resetAtMs = undefined;
    const version = this.cellPods.version();
    if (version !== undefined) this.#progress(version);
    // It was asked for after that, and is consistent: counts of the former history must not stand until something else
    // happens in the cell.
    this.barriers.listed(resetAtMs);
    this.#enqueueAll();
  }

  #barrierPassed(): void {
    this.cellPods.barrierPassed(this.barriers.passedSentAtMs);
    this.#drain(this.#barrierPool);
  }

  #progress(version: ResourceVersion): void {
    const stepMs = this.#wallClockSteps.take();
    if (stepMs !== 0) {
      this.deps.logger.warn("the wall clock was set; counting the available pods anew", { stepMs });
      this.#enqueueAll();
    }
    if (this.#resetAtMs !== undefined) return;
    this.barriers.progress(version);
    if (this.#nextEventPool.size === 0) return;
    const nowMs = this.deps.clock.monotonicMs();
    this.deps.metrics.poolDrainCount.observe({}, this.#nextEventPool.size);
    if (this.#lastDrainMs !== undefined)
      this.deps.metrics.poolDrainPeriod.observe({}, (nowMs - this.#lastDrainMs) / 1000);
    this.#lastDrainMs = nowMs;
    this.#drain(this.#nextEventPool);
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, protector, uid } = event.object;
    const nowMs = this.deps.clock.monotonicMs();
    if (event.type === "deleted") {
      this.#states.delete(key);
      this.matchTable.untrackProtector(key);
      this.#nextEventPool.delete(key);
      this.#barrierPool.delete(key);
      return;
    }
    const tracked = this.matchTable.trackProtector(key, protector);
    if (!tracked.ok) {
      this.deps.metrics.indexErrors.inc({ namespace: protector.metadata.namespace, error: "Selector" });
      // Not at each write of its status by others.
      if (event.type === "added" || event.previous.protector.metadata.generation !== protector.metadata.generation)
        this.deps.logger.error("PodProtector cannot be counted", { podProtector: key, reason: tracked.reason });
    }
    let state = this.#states.get(key);
    if (state === undefined || state.uid !== uid) {
      state = new ProtectorState(event.object, this.config.cellID, nowMs);
      this.#states.set(key, state);
    } else {
      const wentBack =
        event.type === "modified" &&
        compareResourceVersions(event.object.resourceVersion, event.previous.resourceVersion) < 0;
      if (wentBack)
        this.deps.logger.error("PodProtector went back to an older version: the core was restored", {
          podProtector: key,
        });
      state.watched(event.object, wentBack, nowMs);
    }
    if (tracked.ok)
      state.noteSpec(countedSpec(uid, tracked.selectorText, state.newest.protector.spec.minReadySeconds), nowMs);
    this.#enqueue(key);
  }

  #drain(keys: Set<string>): void {
    const drained = [...keys];
    keys.clear();
    for (const key of drained) this.#enqueue(key);
  }

  #enqueueAll(): void {
    for (const key of this.#states.keys()) this.#enqueue(key);
  }

  #enqueue(key: string): void {
    const state = this.#states.get(key);
    if (this.#queue === undefined || state === undefined) return;
    const { aggregationRateMs } = historyConfigOf(
      state.newest.protector.spec.admissionHistoryConfig,
      this.config.history,
    );
    this.#queue.addAfter(
      key,
      aggregationRateMs * uniform(this.deps.rng, this.config.rateJitterLow, this.config.rateJitterHigh),
    );
  }

  #workerReset(details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }): void {
    this.deps.metrics.historyResets.inc();
    this.deps.logger.error(
      "the worker cluster's versions went backwards: its history was reset; listing pods anew and starting all waits again",
      details,
    );
    const nowMs = this.deps.clock.monotonicMs();
    this.#resetAtMs = nowMs;
    this.barriers.reset();
    for (const state of this.#states.values()) state.workerReset(nowMs);
    this.#restartWaits();
    this.deps.pods.relist();
  }

  /**
   * A list was older than what the watch had delivered: from a server that lags, or after a reset, which the next
   * barrier will tell.
   */
  #snapshotWentBack(version: ResourceVersion): void {
    this.deps.logger.warn("the list of pods is older than what the watch had delivered; starting all waits again", {
      version,
    });
    this.#restartWaits();
  }

  #restartWaits(): void {
    const nowMs = this.deps.clock.monotonicMs();
    for (const [key, state] of this.#states) {
      state.firstSeen.restart(nowMs);
      this.#enqueue(key);
    }
  }

  /**
   * The recorded version lies above a snapshot that has passed a barrier: it belongs to a worker history that no longer
   * exists.
   */
  #recordedHistoryReset(key: string, state: ProtectorState): void {
    const recorded = state.cell()?.aggregation;
    this.deps.metrics.historyResets.inc();
    this.deps.logger.error("the recorded counts belong to a former history of the worker cluster; counting anew", {
      podProtector: key,
      recorded: recorded?.resourceVersion,
    });
    state.memory.workerReset(recorded);
    state.firstSeen.restart(this.deps.clock.monotonicMs());
    this.#enqueue(key);
  }
}
