/**
 * The aggregator of one cell and one core: pod events and PodProtector events in, status writes out
 * (docs/aggregator.md).
 *
 * The caches are always warm; only the leader's queue runs, so that a fail-over is one write away. An event puts the
 * PodProtectors that it touches into the queue (counting/counting-queue.ts).
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type PodRecord } from "../api/pod.ts";
import { type ResourceVersion } from "../api/resource-version.ts";
import { type Bucket } from "../api/v1alpha1/pod-protector.ts";
import { isUnseenBy } from "../accounting/count/health-criterion.ts";
import { type ProtectorMemory } from "../accounting/count/protector-memory.ts";
import { RecountMarks } from "../accounting/count/recount-mark.ts";
import { FenceRegistry } from "../accounting/settle/fence-registry.ts";
import { type InformerEvent } from "../kube/informer.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { later, longAgo, type MonotonicMs } from "../util/clock.ts";
import { type Outcome } from "../work-queue/index.ts";
import { SelfCheck } from "./audits/self-check.ts";
import { type Backlog, type Counted } from "./counting/backlog.ts";
import { CellWriter } from "./counting/cell-writer.ts";
import { CountingQueue } from "./counting/counting-queue.ts";
import { type AggregatorDependencies, type AggregatorSettings } from "./counting/dependencies.ts";
import { Fencer } from "./counting/fencer.ts";
import { MatchTable } from "./counting/match-table.ts";
import { ProtectorMemories } from "./counting/protector-memories.ts";
import { type Pass, reconcileProtector } from "./counting/reconcile.ts";
import { type AggregatorSizes } from "./metrics.ts";
import { type ProvableWatch } from "./watching/barrier.ts";
import { type CellHandler, CellWatch } from "./watching/cell-watch.ts";

/** Least time between two lines about Ready times. The metric counts all of them. */
const doubtSpacingMs = 3_600_000;

type Reset = Parameters<CellHandler["onHistoryReset"]>[0];

export class Aggregator {
  readonly #config: AggregatorSettings;
  readonly #deps: AggregatorDependencies;
  readonly #podProtectorLabelSelector: CompiledSelector;
  readonly #matchTable: MatchTable;
  readonly #memories: ProtectorMemories;
  readonly #queue: CountingQueue;
  readonly #writer: CellWriter;
  readonly #fences: FenceRegistry;
  readonly #fencer: Fencer;
  readonly #cell: CellWatch;
  #doubtToldAtMs: MonotonicMs = longAgo;
  /** When the PodProtectors were listed first. */
  #firstListAtMs: MonotonicMs | undefined;
  /** Of the matches. To be run while leading. */
  readonly selfCheck: SelfCheck;

  constructor(config: AggregatorSettings, deps: AggregatorDependencies) {
    this.#config = config;
    this.#deps = deps;
    const { clock, logger } = deps;
    const compiled = compileSelector(config.podProtectorLabelSelector);
    assert(compiled.ok, "the configuration has checked the selector of PodProtectors");
    this.#podProtectorLabelSelector = compiled.selector;
    this.#matchTable = new MatchTable((podKey) => deps.coverage.recheck(podKey));
    deps.coverage.addTable(this.#matchTable);
    this.#memories = new ProtectorMemories({
      cellID: config.cellID,
      marks: new RecountMarks({
        now: () => clock.epochMicros(),
        onRefused: (recountedAt) =>
          logger.error("Recount mark is more than a day ahead of this clock, ignoring it", { recountedAt }),
      }),
    });
    this.#queue = new CountingQueue({
      ...deps,
      config,
      memories: this.#memories,
      countsNone: (key) => this.#matchTable.countsNone(key),
      count: (key, signal) => this.#count(key, signal),
    });
    const { pace } = this.#queue;
    this.#writer = new CellWriter({ ...deps, budget: pace.budget, pace });
    this.selfCheck = new SelfCheck({
      ...deps,
      table: this.#matchTable,
      onRepaired: (keys) => this.#queue.addAll(keys),
    });
    this.#fences = new FenceRegistry(config.settlementFenceDelayMs, config.settleWindowMs, config.fencedPodsMax);
    this.#fencer = new Fencer({
      ...deps,
      client: deps.worker,
      registry: this.#fences,
      settleWindowMs: config.settleWindowMs,
      waitingMax: config.fencesWaitingMax,
      fences: deps.metrics.fences,
      onAnswered: (podUID) => this.#queue.addAll(this.#queue.waiting.fenceAnswered(podUID)),
    });
    this.#cell = new CellWatch({
      pods: deps.pods,
      syncTime: config.syncTime,
      barriers: {
        list: deps.listBarrier,
        onWaiting: deps.touch,
        onError: (error) => logger.warn("Cannot list pods for a barrier, retrying", { err: error }),
        onErrorsOver: (outage) => logger.info("Pods can be listed for barriers again", outage),
      },
      clock,
      handler: {
        onPodEvent: (event) => this.#podEvent(event),
        onProgress: () => this.#queue.eventCame(),
        onBarrierPassed: () => this.#queue.addAll(this.#queue.waiting.barrierPassed()),
        onWentBack: (version) => this.#snapshotWentBack(version),
        onHistoryReset: (details) => this.#workerReset(details),
        onListedAfterReset: () => this.#queue.addEach(),
        onWallClockSet: (stepMs) => this.#wallClockSet(stepMs),
        onReadyTimeDoubted: (pod) => this.#readyTimeDoubted(pod),
      },
    });
    deps.protectors.subscribe({
      onEvent: (event) => this.#protectorEvent(event),
      onListed: (first, changed) => this.#listed(first, changed),
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
    return this.#cell.barriers;
  }

  /** For readiness: that this process has just started, and makes no first counts yet; undefined = it does. */
  startProblem(): string | undefined {
    const { hasBeenUp, settleWindowMs } = this.#config;
    if (hasBeenUp === true || this.#firstListAtMs === undefined) return undefined;
    if (this.#deps.clock.monotonicMs() >= later(this.#firstListAtMs, settleWindowMs)) return undefined;
    return `it has just started, and makes first counts after ${settleWindowMs / 1000} s`;
  }

  /** For heartbeats. Kept while leading. */
  get backlog(): Backlog {
    return this.#queue.backlog;
  }

  /** Call right before the pod informer runs, with the PodProtectors synced. */
  podsStarting(): void {
    this.#cell.podsStarting();
  }

  /** Leads until the signal aborts and the work in flight has ended. `takesOver`: what is recorded is another's. */
  async lead(signal: AbortSignal, takesOver = false): Promise<void> {
    if (takesOver) for (const memory of this.#memories.values()) memory.takenOver(this.#deps.clock.monotonicMs());
    this.#cell.barriers.start(signal);
    await this.#queue.run(signal);
  }

  /** For gauges. A standby queues nothing, nothing waits there, and its fences are those of its former terms. */
  sizes(): AggregatorSizes {
    const waiting = this.#queue.waiting.sizes();
    return {
      protectors: this.#memories.size,
      selectors: this.#matchTable.size,
      queue: this.#queue.size,
      "next-event-pool": waiting.event,
      "barrier-pool": waiting.barrier,
      "fence-pool": waiting.fence,
      fences: this.#fences.size,
      "fences-waiting": this.#fencer.waiting,
      ...podNumbers(this.#deps.pods.values()),
    };
  }

  /** The unsettled admissions of this cell, by PodProtector. */
  histories(): Iterable<readonly Bucket[]> {
    return this.#memories.histories();
  }

  /** PodProtectors that want pods to stay and match none, in any cell. */
  unmatched(): Iterable<ObjectKey> {
    return this.#memories.matchingNothing((key) => this.#matchTable.countsNone(key));
  }

  async #count(key: ObjectKey, signal: AbortSignal): Promise<readonly [Outcome, Counted]> {
    const memory = this.#memories.get(key);
    if (memory === undefined || !this.#isOurs(memory)) return [{ kind: "done" }, "counted"];
    if (!memory.isCountable) return [{ kind: "done" }, "uncountable"];
    this.#fencer.prune();
    const versionBefore = this.#cell.version();
    if (memory.needsLiveRead) {
      const ending = await this.#writer.refresh(memory, signal);
      if (ending !== undefined) return [ending, "open"];
      // The watch may have delivered an invalid selector meanwhile.
      if (!memory.isCountable) return [{ kind: "done" }, "uncountable"];
    }
    // While the watch is away the snapshot may be of a former history of the worker: a pod that it saw go may be back.
    const snapshot = this.#deps.pods.lastError() === undefined ? this.#cell.snapshot() : undefined;
    if (snapshot === undefined) {
      this.#waitForEvent(key, versionBefore);
      return [{ kind: "done" }, "open"];
    }
    const cell = {
      snapshot,
      lastEventTime: this.#cell.lastEventTime,
      pods: this.#cell.pods.pick(this.#matchTable.podKeysOf(key)),
      readySince: this.#cell.pods.readySince.bind(this.#cell.pods),
    };
    const tools = { config: this.#config, fences: this.#fences, writer: this.#writer, clock: this.#deps.clock };
    const pass = await reconcileProtector(memory, cell, tools, signal);
    this.#waitFor(memory, pass, versionBefore, signal);
    return [pass.outcome, pass.isCounted ? "counted" : "open"];
  }

  #isOurs({ newest }: ProtectorMemory): boolean {
    return matches(this.#podProtectorLabelSelector, newest.protector.metadata.labels ?? {});
  }

  /** What a pass waits for may have come while it wrote. Nothing else would wake the PodProtector then. */
  #waitFor(memory: ProtectorMemory, pass: Pass, versionBefore: ResourceVersion | undefined, signal: AbortSignal): void {
    const { key } = memory;
    const { waiting } = this.#queue;
    if (pass.isObsolete) this.#foundObsolete(memory);
    if (pass.waitsForEvent) this.#waitForEvent(key, versionBefore);
    if (pass.barrierFromMs !== undefined) {
      if (this.#cell.barriers.passedSentAtMs > pass.barrierFromMs) this.#queue.add(key);
      else waiting.forBarrier(key);
      this.#cell.barriers.want(pass.barrierFromMs);
    }
    for (const podUID of pass.fence) {
      const pod = this.#cell.pods.byUID(podUID);
      // Beyond the fencer's limit the next aggregation asks again.
      if (pod !== undefined && this.#fencer.request(pod, signal)) waiting.forFence(podUID, key);
    }
  }

  #waitForEvent(key: ObjectKey, versionBefore: ResourceVersion | undefined): void {
    if (this.#cell.version() === versionBefore) this.#queue.waiting.forEvent(key);
    else this.#queue.add(key, "progress");
  }

  #podEvent(event: InformerEvent<PodRecord>): void {
    const { clock, metrics } = this.#deps;
    const startMs = clock.monotonicMs();
    const keys =
      event.type === "deleted"
        ? this.#matchTable.podDeleted(event.object)
        : this.#matchTable.podChanged(event.object, event.type === "modified" ? event.previous : undefined);
    this.#queue.addAll(keys, event);
    const { namespace } = event.object;
    metrics.enqueue.observe({ namespace, kind: "Pod" }, (clock.monotonicMs() - startMs) / 1000);
  }

  /** A clock that is wrong is so for all pods of its node, and ours for all pods. */
  #readyTimeDoubted({ key, namespace, readySince }: PodRecord): void {
    const { clock, logger, metrics } = this.#deps;
    metrics.indexErrors.inc({ namespace, error: "ReadyTime" });
    if (readySince === undefined || clock.monotonicMs() < later(this.#doubtToldAtMs, doubtSpacingMs)) return;
    this.#doubtToldAtMs = clock.monotonicMs();
    logger.warn("Ready time of a pod is ahead of this clock, so the clock of its node or this one is wrong", {
      pod: key,
      aheadSeconds: Math.round((readySince - clock.epochMicros()) / 1_000_000),
    });
  }

  #wallClockSet(stepMs: number): void {
    this.#deps.logger.warn("The wall clock was set, counting all available pods again", { stepMs });
    this.#queue.addEach();
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, uid } = event.object;
    const nowMs = this.#deps.clock.monotonicMs();
    if (event.type === "deleted") {
      this.#memories.left(event.object, event.isAbsent === true ? undefined : nowMs);
      this.#matchTable.untrackProtector(key);
      this.#queue.forget(key);
      return;
    }
    // Another object of the same name.
    if (this.#memories.get(key)?.uid !== uid) this.#matchTable.untrackProtector(key);
    if (this.#memories.watched(event, this.#track(event), nowMs))
      this.#deps.logger.error("PodProtector went back to an older version: the core was restored", {
        podProtector: key,
      });
    this.#queue.add(key);
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

  /** The PodProtectors were listed. `changed` as for InformerHandler. */
  #listed(first: boolean, changed: ReadonlySet<ObjectKey> | undefined): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (changed === undefined && !(first && this.#config.hasBeenUp === true)) this.#memories.listed(nowMs);
    if (first) this.#firstListAtMs = nowMs;
    else this.#relisted(changed);
  }

  #relisted(changed: ReadonlySet<ObjectKey> | undefined): void {
    const { clock, protectors } = this.#deps;
    const nowMs = clock.monotonicMs();
    for (const memory of this.#memories.values()) {
      const { key, newest } = memory;
      // It shows the newest version that is known: a live read could not tell more (docs/aggregator.md#barriers).
      const listed = changed?.has(key) === false ? protectors.get(key) : undefined;
      if (listed?.resourceVersion === newest.resourceVersion) continue;
      memory.relisted(nowMs);
      this.#queue.add(key);
    }
  }

  #workerReset(details: Reset): void {
    this.#deps.metrics.historyResets.inc();
    this.#deps.logger.error(
      "The worker's history was reset (resourceVersions went backwards), listing pods again and restarting all waits",
      details,
    );
    const nowMs = this.#deps.clock.monotonicMs();
    for (const memory of this.#memories.values()) memory.workerReset(nowMs);
    this.#queue.addEach();
  }

  #snapshotWentBack(version: ResourceVersion): void {
    this.#deps.logger.warn("The list of pods is older than what the watch had delivered, restarting all waits", {
      version,
    });
    const nowMs = this.#deps.clock.monotonicMs();
    for (const memory of this.#memories.values()) memory.snapshotWentBack(nowMs);
    this.#queue.addEach();
  }

  /** The recorded version is above a snapshot that has passed a barrier: it is of a former history of the worker. */
  #foundObsolete(memory: ProtectorMemory): void {
    this.#deps.metrics.historyResets.inc();
    this.#deps.logger.error("The recorded counts belong to a former history of the worker, counting again", {
      podProtector: memory.key,
      recorded: memory.cell()?.aggregation?.resourceVersion,
    });
    memory.foundObsolete(this.#deps.clock.monotonicMs());
    this.#queue.add(memory.key);
  }
}

/** How many there are in the cell, protected or not, and how many of them are unseen. Once for each scrape. */
function podNumbers(pods: Iterable<PodRecord>): Pick<AggregatorSizes, "pods" | "unseen-pods"> {
  let [all, unseen] = [0, 0];
  for (const pod of pods) {
    all += 1;
    if (isUnseenBy("Ready", pod)) unseen += 1;
  }
  return { pods: all, "unseen-pods": unseen };
}
