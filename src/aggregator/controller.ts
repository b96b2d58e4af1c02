/**
 * The aggregator of one cell and one core: pod events and PodProtector events in, status writes out
 * (docs/aggregator.md).
 *
 * The caches are always warm; only the leader's work queue runs, so that a fail-over is one write away. An event
 * enqueues the PodProtectors that it touches, after a delay (counting-pace.ts).
 */
import { type ObjectKey, partsOf } from "../api/object-key.ts";
import { type PodRecord } from "../api/pod.ts";
import { compareResourceVersions, type ResourceVersion } from "../api/resource-version.ts";
import { type Bucket } from "../api/v1alpha1/pod-protector.ts";
import { RecountMarks } from "../accounting/count/recount-mark.ts";
import { FenceRegistry } from "../accounting/settle/fence-registry.ts";
import { type InformerEvent } from "../kube/informer.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { later, type MonotonicMs } from "../util/clock.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";
import { Backlog, type Counted } from "./counting/backlog.ts";
import { CellWatch } from "./watching/cell-watch.ts";
import { CellWriter } from "./counting/cell-writer.ts";
import { CountingPace, type News } from "./counting/counting-pace.ts";
import { type ProvableWatch } from "./watching/freshness.ts";
import { matchingNothing } from "./counting/coverage-report.ts";
import { FailureLines } from "./counting/failure-lines.ts";
import { Fencer } from "./counting/fencer.ts";
import { FormerProtectors } from "./counting/former-protectors.ts";
import { MatchTable } from "./counting/match-table.ts";
import { type AggregatorDependencies, type AggregatorSettings } from "./counting/dependencies.ts";
import { type AggregatorSizes } from "./metrics.ts";
import { ProtectorState } from "./counting/protector-state.ts";
import { type Pass, reconcileProtector } from "./counting/reconcile.ts";
import { SelfCheck } from "./audits/self-check.ts";
import { Waiting } from "./counting/waiting.ts";

export class Aggregator {
  readonly #config: AggregatorSettings;
  readonly #deps: AggregatorDependencies;
  readonly #cell: CellWatch;
  readonly #matchTable: MatchTable;
  readonly #fences: FenceRegistry;
  readonly #fencer: Fencer;
  readonly #writer: CellWriter;
  readonly #marks: RecountMarks;
  readonly #podProtectorLabelSelector: CompiledSelector;
  readonly #states = new Map<ObjectKey, ProtectorState>();
  readonly #former = new FormerProtectors();
  readonly #waiting = new Waiting();
  readonly #pace: CountingPace;
  /** Of the matches. To be run while leading. */
  readonly selfCheck: SelfCheck;
  /** For heartbeats. Kept while leading. */
  readonly backlog: Backlog;
  #eventsCameAtMs: MonotonicMs | undefined;
  #queue: WorkQueue<ObjectKey> | undefined;

  constructor(config: AggregatorSettings, deps: AggregatorDependencies) {
    this.#config = config;
    this.#deps = deps;
    const compiled = compileSelector(config.podProtectorLabelSelector);
    assert(compiled.ok, "the configuration has checked the selector of PodProtectors");
    this.#podProtectorLabelSelector = compiled.selector;
    this.#matchTable = new MatchTable((podKey) => deps.coverage.recheck(podKey));
    deps.coverage.addTable(this.#matchTable);
    this.selfCheck = new SelfCheck({ ...deps, table: this.#matchTable, onRepaired: (keys) => this.#enqueueAll(keys) });
    this.#pace = new CountingPace({
      config,
      clock: deps.clock,
      rng: deps.rng,
      countsNone: (key) => this.#matchTable.countsNone(key),
      isWatching: () => deps.pods.lastError() === undefined,
      asked: deps.metrics.promptCounts,
    });
    this.#writer = new CellWriter({ ...deps, budget: this.#pace.budget, pace: this.#pace });
    this.backlog = new Backlog({
      keys: () => this.#states.keys(),
      uidOf: (key) => this.#states.get(key)?.uid,
      add: (key) => void this.#queue?.add(key),
    });
    this.#marks = new RecountMarks({
      now: () => deps.clock.epochMicros(),
      onRefused: (recountedAt) =>
        deps.logger.error("Recount mark is more than a day ahead of this clock, ignoring it", { recountedAt }),
    });
    this.#fences = new FenceRegistry(config.settlementFenceDelayMs, config.settleWindowMs, config.fencedPodsMax);
    this.#fencer = new Fencer({
      client: deps.worker,
      registry: this.#fences,
      settleWindowMs: config.settleWindowMs,
      waitingMax: config.fencesWaitingMax,
      clock: deps.clock,
      rng: deps.rng,
      logger: deps.logger,
      fences: deps.metrics.fences,
      onAnswered: (podUID) => this.#enqueueAll(this.#waiting.fenceAnswered(podUID)),
    });
    this.#cell = new CellWatch({
      pods: deps.pods,
      syncTime: config.syncTime,
      barriers: {
        list: deps.listBarrier,
        onWaiting: deps.touch,
        onError: (error) => deps.logger.warn("Cannot list pods for a barrier, retrying", { err: error }),
        onErrorsOver: (outage) => deps.logger.info("Pods can be listed for barriers again", outage),
      },
      clock: deps.clock,
      handler: {
        onPodEvent: (event) => this.#podEvent(event),
        onProgress: () => this.#eventCame(),
        onBarrierPassed: () => this.#enqueueAll(this.#waiting.barrierPassed()),
        onWentBack: (version) => this.#snapshotWentBack(version),
        onHistoryReset: (details) => this.#workerReset(details),
        onListedAfterReset: () => this.#enqueueAll(this.#states.keys()),
        onWallClockSet: (stepMs) => this.#wallClockSet(stepMs),
      },
    });
    deps.protectors.subscribe({
      onEvent: (event) => this.#protectorEvent(event),
      onListed: (first, changed) => {
        if (!first) this.#relisted(changed);
      },
    });
  }

  /**
   * The update-trigger's touch, sent at `sentAtMs`, was carried out, so the worker takes writes
   * (docs/accounting.md#fences).
   */
  touched(sentAtMs: MonotonicMs): void {
    this.#fences.wrote(sentAtMs, this.#deps.clock.monotonicMs());
  }

  /** The watch of the cell's pods, for heartbeats. */
  get podWatch(): ProvableWatch {
    return this.#cell;
  }

  /** Call right before the pod informer runs, with the PodProtectors synced. */
  podsStarting(): void {
    this.#cell.podsStarting();
  }

  /** Leads until the signal aborts and the work in flight has ended. `takesOver`: what is recorded is another's. */
  async lead(signal: AbortSignal, takesOver = false): Promise<void> {
    const { clock, rng, metrics } = this.#deps;
    const failures = new FailureLines(this.#deps);
    if (takesOver) for (const state of this.#states.values()) state.takenOver(clock.monotonicMs());
    this.#cell.start(signal);
    this.#queue = createWorkQueue<ObjectKey>({
      clock,
      rng,
      ...this.#config.queue,
      // Whoever may create PodProtectors in a namespace may create thousands, which a pod of theirs then changes.
      groupOf: (key) => partsOf(key).namespace,
      process: async (key, queueSignal) => {
        let counted: Counted = "open";
        this.backlog.began(key, clock.monotonicMs());
        this.#pace.budget.began(key);
        try {
          const [outcome, how] = await this.#process(key, queueSignal);
          counted = how;
          this.#states.get(key)?.aggregated(outcome.kind === "failed");
          return outcome;
        } finally {
          this.#pace.budget.ended(key);
          this.backlog.ended(key, counted);
        }
      },
      observer: {
        onReconcile: (durationMs, outcome, key) => {
          metrics.reconciled(key, outcome, durationMs);
          if (outcome.kind === "failed" && !signal.aborted) failures.failed(key, outcome.error);
        },
      },
    });
    for (const key of this.#states.keys()) this.#queue.add(key);
    await this.#queue.run(signal);
    this.#queue = undefined;
    failures.close();
    this.#pace.budget.clear();
    this.backlog.clear();
    // The next term begins with every PodProtector.
    this.#waiting.clear();
  }

  /** For gauges. A standby queues nothing, nothing waits there, and its fences are those of its former terms. */
  sizes(): AggregatorSizes {
    const waiting = this.#waiting.sizes();
    return {
      protectors: this.#states.size,
      selectors: this.#matchTable.size,
      queue: this.#queue?.size ?? 0,
      nextEventPool: waiting.event,
      barrierPool: waiting.barrier,
      fencePool: waiting.fence,
      fences: this.#fences.size,
      fencesWaiting: this.#fencer.waiting,
    };
  }

  /** The unsettled admissions of this cell, by PodProtector. */
  *histories(): Iterable<readonly Bucket[]> {
    for (const state of this.#states.values()) yield state.cell()?.admissionHistory?.buckets ?? [];
  }

  /** PodProtectors that want pods to stay and match none, in any cell. */
  unmatched(): Iterable<ObjectKey> {
    return matchingNothing(this.#states.values(), (key) => this.#matchTable.countsNone(key));
  }

  async #process(key: ObjectKey, signal: AbortSignal): Promise<readonly [Outcome, Counted]> {
    const state = this.#states.get(key);
    if (state === undefined || !this.#isOurs(state)) return [{ kind: "done" }, "counted"];
    if (!state.isCountable) return [{ kind: "done" }, "uncountable"];
    this.#fencer.prune();
    const versionBefore = this.#cell.version();
    if (state.needsLiveRead) {
      const ending = await this.#writer.refresh(state, signal);
      if (ending !== undefined) return [ending, "open"];
      // The watch may have delivered an invalid selector meanwhile.
      if (!state.isCountable) return [{ kind: "done" }, "uncountable"];
    }
    const snapshot = this.#cell.snapshot();
    if (snapshot === undefined) {
      this.#waitForEvent(key, versionBefore);
      return [{ kind: "done" }, "open"];
    }
    const cell = {
      snapshot,
      lastEventTime: this.#cell.lastEventTime,
      pods: this.#cell.pods.pick(this.#matchTable.podKeysOf(key)),
    };
    const tools = { config: this.#config, fences: this.#fences, writer: this.#writer, clock: this.#deps.clock };
    const pass = await reconcileProtector(state, cell, tools, signal);
    this.#waitFor(state, pass, versionBefore, signal);
    return [pass.outcome, pass.isCounted ? "counted" : "open"];
  }

  #isOurs(state: ProtectorState): boolean {
    return matches(this.#podProtectorLabelSelector, state.newest.protector.metadata.labels ?? {});
  }

  /** What a pass waits for may have come while it wrote. Nothing else would wake the PodProtector then. */
  #waitFor(state: ProtectorState, pass: Pass, versionBefore: ResourceVersion | undefined, signal: AbortSignal): void {
    const { key } = state;
    if (pass.isObsolete) this.#foundObsolete(state);
    if (pass.waitsForEvent) this.#waitForEvent(key, versionBefore);
    if (pass.barrierFromMs !== undefined) {
      if (this.#cell.barrierSentAtMs > pass.barrierFromMs) this.#enqueue(key);
      else this.#waiting.forBarrier(key);
      this.#cell.wantBarrier(pass.barrierFromMs);
    }
    for (const podUID of pass.fence) {
      const pod = this.#cell.pods.byUID(podUID);
      // Beyond the fencer's limit the next aggregation asks again.
      if (pod !== undefined && this.#fencer.request(pod, signal)) this.#waiting.forFence(podUID, key);
    }
  }

  #waitForEvent(key: ObjectKey, versionBefore: ResourceVersion | undefined): void {
    if (this.#cell.version() === versionBefore) this.#waiting.forEvent(key);
    else this.#enqueue(key, "progress");
  }

  #podEvent(event: InformerEvent<PodRecord>): void {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const keys =
      event.type === "deleted"
        ? this.#matchTable.podDeleted(event.object)
        : this.#matchTable.podChanged(event.object, event.type === "modified" ? event.previous : undefined);
    this.#enqueueAll(keys, event);
    const { namespace } = event.object;
    metrics.enqueue.observe({ namespace, kind: "Pod" }, (clock.monotonicMs() - startMs) / 1000);
  }

  #eventCame(): void {
    const keys = this.#waiting.eventCame();
    if (keys.length === 0) return;
    const { clock, metrics } = this.#deps;
    const nowMs = clock.monotonicMs();
    metrics.poolDrainCount.observe({}, keys.length);
    if (this.#eventsCameAtMs !== undefined) metrics.poolDrainPeriod.observe({}, (nowMs - this.#eventsCameAtMs) / 1000);
    this.#eventsCameAtMs = nowMs;
    this.#enqueueAll(keys, "progress");
  }

  #wallClockSet(stepMs: number): void {
    this.#deps.logger.warn("The wall clock was set, counting all available pods again", { stepMs });
    this.#enqueueAll(this.#states.keys());
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, uid } = event.object;
    if (event.type === "deleted") {
      this.#states.delete(key);
      this.#former.left(event.object, event.isAbsent === true ? undefined : this.#deps.clock.monotonicMs());
      this.#matchTable.untrackProtector(key);
      this.#waiting.forget(key);
      this.#pace.budget.forget(key);
      this.backlog.forget(key);
      return;
    }
    const state = this.#states.get(key);
    // Another object of the same name.
    if (state?.uid !== uid) this.#matchTable.untrackProtector(key);
    const selectorText = this.#track(event);
    const nowMs = this.#deps.clock.monotonicMs();
    if (state?.uid !== uid) {
      const created = new ProtectorState(event.object, selectorText, this.#config.cellID, this.#marks, nowMs);
      const sinceMs = this.#former.appeared(event.object, nowMs);
      if (sinceMs !== undefined) created.memory.remade(sinceMs);
      this.#states.set(key, created);
    } else {
      const wentBack =
        event.type === "modified" &&
        compareResourceVersions(event.object.resourceVersion, event.previous.resourceVersion) < 0;
      if (wentBack)
        this.#deps.logger.error("PodProtector went back to an older version: the core was restored", {
          podProtector: key,
        });
      state.watched(event.object, selectorText, wentBack, nowMs);
    }
    this.#enqueue(key);
  }

  /** Tracks which pods are counted, and returns the canonical text of the selector that is in force, if any. */
  #track(event: Exclude<InformerEvent<StoredProtector>, { type: "deleted" }>): string | undefined {
    const { key, protector } = event.object;
    const tracked = this.#matchTable.trackProtector(key, protector);
    if (tracked.ok) return tracked.selectorText;
    const { namespace, generation } = protector.metadata;
    this.#deps.metrics.indexErrors.inc({ namespace, error: "Selector" });
    // Not at each status write by others.
    if (event.type === "added" || event.previous.protector.metadata.generation !== generation)
      this.#deps.logger.error("PodProtector has an invalid selector, counting by the last valid one, if any", {
        podProtector: key,
        reason: tracked.reason,
      });
    return tracked.selectorText;
  }

  /** The watch of PodProtectors was listed again. `changed` as for InformerHandler. */
  #relisted(changed: ReadonlySet<ObjectKey> | undefined): void {
    const { clock, protectors } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const [key, state] of this.#states) {
      // It shows the newest version that is known: a live read could not tell more (docs/aggregator.md#barriers).
      const listed = changed?.has(key) === false ? protectors.get(key) : undefined;
      if (listed?.resourceVersion === state.newest.resourceVersion) continue;
      state.relisted(nowMs);
      this.#enqueue(key);
    }
  }

  #enqueueAll(keys: Iterable<ObjectKey>, news: News = "other"): void {
    for (const key of keys) this.#enqueue(key, news);
  }

  #enqueue(key: ObjectKey, news: News = "other"): void {
    const state = this.#states.get(key);
    if (this.#queue === undefined || state === undefined) return;
    // Its owner wants it counted no sooner.
    this.backlog.due(key, later(this.#deps.clock.monotonicMs(), this.#pace.rateMs(state)));
    this.#queue.addAfter(key, this.#pace.delayMs(state, news));
  }

  #workerReset(details: { readonly barrier: ResourceVersion; readonly snapshot: ResourceVersion }): void {
    this.#deps.metrics.historyResets.inc();
    this.#deps.logger.error(
      "The worker's history was reset (resourceVersions went backwards), listing pods again and restarting all waits",
      details,
    );
    const nowMs = this.#deps.clock.monotonicMs();
    for (const state of this.#states.values()) state.workerReset(nowMs);
    this.#enqueueAll(this.#states.keys());
  }

  #snapshotWentBack(version: ResourceVersion): void {
    this.#deps.logger.warn("The list of pods is older than what the watch had delivered, restarting all waits", {
      version,
    });
    const nowMs = this.#deps.clock.monotonicMs();
    for (const state of this.#states.values()) state.snapshotWentBack(nowMs);
    this.#enqueueAll(this.#states.keys());
  }

  /** The recorded version is above a snapshot that has passed a barrier: it is of a former history of the worker. */
  #foundObsolete(state: ProtectorState): void {
    this.#deps.metrics.historyResets.inc();
    this.#deps.logger.error("The recorded counts belong to a former history of the worker, counting again", {
      podProtector: state.key,
      recorded: state.cell()?.aggregation?.resourceVersion,
    });
    state.foundObsolete(this.#deps.clock.monotonicMs());
    this.#enqueue(state.key);
  }
}
