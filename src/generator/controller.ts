/**
 * The generator of one core: keeps a PodProtector in force for every source that wants one, and takes it away only when
 * the source is deleted explicitly (a deletionTimestamp) or no longer selected. A source that merely vanishes leaves
 * its PodProtector dangling: that is the disaster that the product exists for (docs/generator.md#lifecycle).
 *
 * Everything goes by the key of the PodProtector, which is unique among the sources of all kinds. The caches are always
 * warm; only the leader's queue runs. facts.ts gathers what is known, decide.ts says what is to be done, and it is
 * carried out here. Cells are the business of cell-controller.ts.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type FoundConditions } from "../api/v1alpha1/conditions.ts";
import { isReleased, neverHadFloor } from "../api/v1alpha1/pod-protector.ts";
import { type Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, type KubeClient, KubeError } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type SourceKind, type SourceRecord, type SourceRef } from "../sources/source.ts";
import { assertNever } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { type Outcome } from "../work-queue/index.ts";
import { type Action, decide, isAboutToGo, isDone, type Known } from "./decide.ts";
import { Facts } from "./facts.ts";
import { DanglingProtectors } from "./protectors/dangling-protectors.ts";
import { implausibleCounts } from "./conditions/plausible-counts.ts";
import { sourceConditionsOf } from "./conditions/source-conditions.ts";
import type { GeneratorAction, GeneratorMetrics, GeneratorSizes, GeneratorTroubles } from "./metrics/metrics.ts";
import { lastFloorBefore } from "./mass-changes/floor-before.ts";
import { type HeldChanges } from "./mass-changes/held-changes.ts";
import { type NamespaceModes } from "./sources/namespace-modes.ts";
import { type Later, PacedQueue, type Work } from "./paced-queue.ts";
import { ProtectorCrd } from "./protectors/protector-crd.ts";
import { ProtectorLifecycle } from "./protectors/protector-lifecycle.ts";
import { Recreation } from "./protectors/recreation.ts";
import { ReleaseList } from "./protectors/releases.ts";
import { type SourceCaches } from "./sources/source-caches.ts";
import { WantedProtectors } from "./sources/source-choice.ts";
import { recordUnprotectable } from "./sources/source-events.ts";
import { inLogs, protectorKeyOf, type WantedProtector } from "./sources/source-plan.ts";
import { foreignReason, type SourceCounts, SourceStates } from "./metrics/source-states.ts";
import { isFinished, type Vanished, VanishedProtectors } from "./protectors/vanished-protectors.ts";

/** The settings that the generator needs, under the names that they have in the Config. */
export type GeneratorSettings = Pick<
  Config["generator"],
  "deploymentPlugin" | "sourceSelector" | "queue" | "percentRounding" | "singleReplica"
> & {
  /** Of the list of releases: that of the cells' Leases. */
  readonly stateNamespace: string;
  /** In which PodProtectors are watched; undefined = all. */
  readonly coreNamespace: string | undefined;
  /** Of the list of releases; undefined = as in production. */
  readonly releasesMax?: number | undefined;
};

export interface GeneratorDependencies {
  readonly core: KubeClient;
  readonly sources: SourceCaches;
  readonly protectors: Informer<StoredProtector>;
  readonly modes: NamespaceModes;
  readonly events: EventRecorder;
  /** Of releases: thousands of them are not to keep other Events waiting. */
  readonly releaseEvents: EventRecorder;
  /** Is asked before anything is released or lowered. */
  readonly changes: HeldChanges;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: GeneratorMetrics;
}

class ForeignProtectorError extends KubeError {}

export class Generator {
  readonly #config: GeneratorSettings;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  readonly #releases: ReleaseList;
  readonly #vanished: VanishedProtectors;
  readonly #crd: ProtectorCrd;
  readonly #recreation: Recreation;
  readonly #facts: Facts;
  /** Sources, each with its PodProtector. */
  readonly #queue: PacedQueue;
  readonly #wanted: WantedProtectors;
  readonly #states = new SourceStates();
  #isLeading = false;
  readonly #dangling: DanglingProtectors;

  constructor(config: GeneratorSettings, deps: GeneratorDependencies) {
    this.#config = config;
    this.#deps = deps;
    const { core, protectors, modes, events, clock, rng, logger, metrics } = deps;
    const onAction = this.#acted.bind(this);
    this.#lifecycle = new ProtectorLifecycle({ core, onAction, logger, events: deps.releaseEvents });
    this.#wanted = new WantedProtectors({ config, modes, lifecycle: this.#lifecycle });
    this.#dangling = new DanglingProtectors({ events, logger, onAction });
    this.#releases = new ReleaseList({
      core,
      namespace: config.stateNamespace,
      releasesMax: config.releasesMax,
      clock,
      logger,
      protectors,
      failures: metrics.releaseListFailures,
      onWritten: (keys) => this.#addAll(keys),
      onRead: () => this.#addListed(),
    });
    const known = deps.sources.refOf.bind(deps.sources);
    this.#vanished = new VanishedProtectors({ protectors, sourceOf: known, releases: this.#releases, clock, logger });
    const lookAtAll = (): void => this.#addAll(this.#allKeys());
    this.#crd = new ProtectorCrd({ core, namespace: config.coreNamespace, events, clock, logger, onBack: lookAtAll });
    this.#recreation = new Recreation({
      vanished: this.#vanished,
      lifecycle: this.#lifecycle,
      crd: this.#crd,
      events,
      clock,
      logger,
      onDue: (due) => this.#addAll(due),
    });
    this.#facts = new Facts({
      ...deps,
      wanted: this.#wanted,
      vanished: this.#vanished,
      dangling: this.#dangling,
      releases: this.#releases,
      lifecycle: this.#lifecycle,
    });
    this.#queue = new PacedQueue({
      config: config.queue,
      clock,
      rng,
      onReconcile: this.#observe.bind(this),
      due: (key) => this.#due(key),
      onFailed: this.#failed.bind(this),
    });
    deps.sources.subscribe(() => ({ onEvent: ({ object }) => this.#queue.add(protectorKeyOf(object)) }));
    // What was put off while the kind was not known is due now.
    deps.sources.onKnown(lookAtAll);
    modes.onChanged((namespace) => {
      const prefix = namespace === undefined ? "" : `${namespace}/`;
      if (this.#isLeading) this.#addAll(this.#allKeys().filter((key) => key.startsWith(prefix)));
    });
    deps.protectors.subscribe({
      onEvent: (event) => this.#protectorEvent(event),
      // What was made and lost again in between has left no event.
      onListed: (_isFirst, changed) => {
        if (changed === undefined) lookAtAll();
      },
    });
  }

  /** For gauges; a standby has none. */
  sources(): SourceCounts {
    return this.#states.counts();
  }

  /**
   * What is to be said of a PodProtector by its source, as far as the caches know. Nothing about a hand-made or a
   * released one, nor while it is not known whether the source has vanished.
   */
  found(stored: StoredProtector): FoundConditions {
    const { sources, changes } = this.#deps;
    const ref = sources.refOf(stored.protector);
    if (ref === undefined || isReleased(stored.protector) || !sources.isKnown(ref.kind)) return {};
    const source = sources.get(stored.key);
    if (source === undefined) return this.#dangling.found(stored, ref);
    const held = changes.found(stored.key);
    if (this.#wanted.of(source, stored) === undefined) return held;
    const { dropped } = this.#lifecycle;
    const Implausible = implausibleCounts(source, stored.protector, lastFloorBefore(stored.protector));
    return { ...sourceConditionsOf(source, this.#config, dropped), Implausible, ...held, Dangling: false };
  }

  /** For gauges. */
  troubles(): GeneratorTroubles {
    const isLeading = this.#isLeading;
    return {
      ignored: isLeading ? this.#deps.sources.countIgnored(this.#deps.protectors.values()) : 0,
      vanished: isLeading ? this.#vanished.size : 0,
      waitingReleases: this.#releases.waiting,
      isCrdLost: this.#crd.isLost,
    };
  }

  /** For gauges; a standby queues nothing. */
  sizes(): GeneratorSizes {
    return { queue: this.#queue.size, paced: this.#queue.paced };
  }

  /** Keeps what this process remembers of vanished PodProtectors up to date, until the signal aborts. */
  async observe(signal: AbortSignal): Promise<void> {
    await this.#vanished.observe((vanished) => this.#addAll(vanished.map(({ stored }) => stored.key)), signal);
  }

  /**
   * The work of the leader, until the signal aborts; resolves when what was begun has ended. Call it when the caches
   * are synced.
   */
  async lead(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    await Promise.all([
      // First: it forgets the term before, and the queue begins at once.
      this.#deps.changes.lead((key) => this.#queue.add(key), signal),
      this.#queue.run(this.#allKeys(), signal),
      this.#releases.lead(signal),
      this.#crd.lead(signal),
    ]);
    this.#isLeading = false;
    this.#states.clear();
  }

  #allKeys(): readonly ObjectKey[] {
    const { sources, protectors } = this.#deps;
    const generated = [...protectors.values()].filter(({ protector }) => sources.refOf(protector) !== undefined);
    const vanished = [...this.#vanished.values()].map(({ stored }) => stored.key);
    return [...sources.keys(), ...generated.map(({ key }) => key), ...vanished];
  }

  #observe(durationMs: number, outcome: Outcome, key: ObjectKey): void {
    const kind = this.#deps.sources.kindOf(key);
    if (kind !== undefined) this.#deps.metrics.reconciled(kind, key, outcome, durationMs);
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, protector } = event.object;
    // Also somebody else's, which has let go of the name, or has been given our marks.
    const { sources } = this.#deps;
    if (sources.get(key) !== undefined || sources.refOf(protector) !== undefined) this.#queue.add(key);
    if (event.type === "deleted") this.#dangling.forget(key);
    this.#recreation.watched(event);
  }

  #addAll(keys: readonly ObjectKey[]): void {
    for (const key of keys) this.#queue.add(key);
  }

  /** Another leader may have begun a release that is to be called off. */
  #addListed(): void {
    for (const { uid, key } of this.#deps.protectors.values()) if (this.#releases.isListed(uid)) this.#queue.add(key);
  }

  /** What is left to be done, as far as the caches know. They only say where to look. */
  #due(key: ObjectKey): Work | Later | undefined {
    const { changes } = this.#deps;
    const ref = this.#facts.refOf(key);
    if (ref === undefined) {
      this.#states.forget(key);
      changes.gone(key);
      return undefined;
    }
    const known = this.#facts.cached(key, ref);
    this.#note(key, known);
    let action = decide(known);
    // What has vanished is looked at in any case.
    if (action.kind === "judge" && known.lost === undefined)
      action = decide({ ...known, verdict: changes.resting(key, action.request) });
    if (action.kind === "wait") return action;
    if (!isDone(action, known)) return (signal) => this.#reconcile(key, ref, signal);
    if (action.kind === "keep" && action.wanted === known.wanted)
      changes.settled(key, action.source, action.held.stored.protector);
    if (action.kind === "release" && action.source !== undefined && action.stored !== undefined)
      changes.settled(key, action.source, action.stored.protector);
    return undefined;
  }

  /** How the source fares, for gauges and for those who remember it. */
  #note(key: ObjectKey, { source, holder, wanted, lost }: Known): void {
    if (source === "unknown") return;
    const hasProtector = holder.kind === "ours";
    if (source !== "gone" && hasProtector) this.#dangling.forget(key);
    if (source === "gone" || wanted === undefined) this.#states.forget(key);
    else if (hasProtector) this.#states.has(key, source.spec.floorBy(this.#config).kind);
    else if (isAboutToGo(source)) this.#states.forget(key);
    else this.#states.lacks(key, holder.kind === "foreign" ? foreignReason : undefined);
    if (lost === undefined && (source === "gone" || !hasProtector)) this.#deps.changes.gone(key);
  }

  /**
   * Brings about what the source wants by its present state. The caches may lag behind a protector just made, a source
   * that was recreated, or what another generator has done.
   */
  async #reconcile(key: ObjectKey, ref: SourceRef, signal: AbortSignal): Promise<Later | void> {
    const known = await this.#facts.read(key, ref, signal);
    const action = decide(known);
    if (action.kind !== "judge") return await this.#carryOut(action, ref, signal);
    const verdict = await this.#deps.changes.judge(key, action.request, signal);
    return await this.#carryOut(decide({ ...known, verdict }), ref, signal);
  }

  async #carryOut(action: Action, ref: SourceRef, signal: AbortSignal): Promise<Later | void> {
    switch (action.kind) {
      case "leave":
      case "judge":
        return;
      case "wait":
        return action;
      case "recreate":
        return await this.#recreation.recreate(action.lost, signal);
      case "dangle":
        if (this.#mayKeep(action.stored)) this.#dangling.report(action.stored, ref.kind);
        return;
      case "release": {
        const { stored, lost, source, cause } = action;
        if (stored !== undefined && !(await this.#release(stored, ref, cause, signal))) return;
        if (lost !== undefined && !this.#letGo(lost, cause)) return;
        if (source !== undefined) await this.#lifecycle.removeSourceFinalizer(source, signal);
        return;
      }
      case "yield":
        return await this.#leaveUnprotected(action.source, action.wanted, signal);
      case "create": {
        const { source, wanted, lost } = action;
        if (!(await this.#lifecycle.guard(source, lost !== undefined, signal))) return;
        if ((await this.#recreation.create(wanted, lost, signal)) !== "foreign") return;
        const guarded = await this.#lifecycle.readSource(ref, signal);
        if (guarded !== undefined) await this.#leaveUnprotected(guarded, wanted, signal);
        return;
      }
      case "keep": {
        const { source, held, wanted, floorBefore } = action;
        if (!(await this.#lifecycle.guard(source, true, signal))) return;
        if (this.#mayKeep(held.stored)) await this.#lifecycle.sync(held, wanted, signal, floorBefore);
        return;
      }
      default:
        assertNever(action);
    }
  }

  /** The one place where a PodProtector is released. False: it waits for its entry in the list of releases. */
  async #release(stored: StoredProtector, ref: SourceRef, cause: string, signal: AbortSignal): Promise<boolean> {
    const isListed = isFinished(stored) || neverHadFloor(stored.protector);
    if (!isListed && !this.#releases.mayRelease(stored.uid, cause, stored.key)) return false;
    await this.#lifecycle.release(stored, ref.kind, cause, signal);
    return true;
  }

  /** As `release`, of one that has vanished: whoever remembers it learns that it is gone for good. */
  #letGo({ stored }: Vanished, cause: string): boolean {
    if (!this.#releases.mayRelease(stored.uid, cause, stored.key)) return false;
    this.#vanished.forget(stored.key);
    return true;
  }

  /** False: it is in the list of releases, and has to leave that before it is kept. */
  #mayKeep(stored: StoredProtector): boolean {
    const { protector, uid, key } = stored;
    if (!isReleased(protector) && !this.#releases.isListed(uid)) return true;
    return this.#releases.mayKeep(uid, key);
  }

  /** Somebody else's PodProtector has the name: it stays as it is, and the source is not held for nothing. */
  async #leaveUnprotected(source: SourceRecord, wanted: WantedProtector, signal: AbortSignal): Promise<void> {
    await this.#lifecycle.removeSourceFinalizer(source, signal);
    const { namespace, name } = wanted;
    throw new ForeignProtectorError(
      "invalid",
      `PodProtector ${namespace}/${name} exists, but lacks the source labels of a generated one; rename or delete it`,
    );
  }

  /** A source that lacks its PodProtector must not be unprotected in silence. */
  #failed(key: ObjectKey, err: unknown): void {
    const { sources, logger, events } = this.#deps;
    const ref = this.#facts.refOf(key);
    const fields = ref === undefined ? { podProtector: key } : inLogs(ref);
    logger.error(`Cannot reconcile a ${ref?.kind.kind ?? "source"}, retrying`, { ...fields, err });
    const source = sources.get(key);
    if (source === undefined || !this.#states.isLacking(key)) return;
    this.#states.lacks(key, err instanceof ForeignProtectorError ? foreignReason : errorLabel(err));
    recordUnprotectable(events, source, err);
  }

  #acted(
    action: GeneratorAction,
    kind: SourceKind,
    object: { readonly namespace: string; readonly name: string },
  ): void {
    const { namespace, name } = object;
    this.#deps.metrics.actions.inc({ ...kind.resource, namespace, action });
    this.#deps.logger.verbose(3, "Acted", { action, namespace, name });
  }
}
