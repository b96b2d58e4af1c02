/**
 * The generator of one core: keeps a PodProtector in force for every source that wants one, and takes it away only when
 * the source is deleted explicitly (a deletionTimestamp) or no longer selected. A source that merely vanishes leaves
 * its PodProtector dangling: that is the disaster that the product exists for (docs/generator.md#lifecycle).
 *
 * Everything goes by the key of the PodProtector, which is unique among the sources of all kinds. The caches are always
 * warm; only the leader's queue runs. Cells are the business of cell-controller.ts.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type FoundConditions } from "../api/v1alpha1/conditions.ts";
import { finalizer } from "../api/v1alpha1/names.ts";
import { neverHadFloor } from "../api/v1alpha1/pod-protector.ts";
import { type Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, type KubeClient, KubeError } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type SourceKind, type SourceRecord, type SourceRef } from "../sources/source.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { type Outcome } from "../work-queue/index.ts";
import { DanglingProtectors } from "./protectors/dangling-protectors.ts";
import { driftPatch } from "./protectors/drift.ts";
import { sourceConditionsOf } from "./conditions/floor-conditions.ts";
import type { GeneratorAction, GeneratorMetrics, GeneratorSizes, GeneratorTroubles } from "./metrics/metrics.ts";
import { askedBefore, askedNow } from "./mass-changes/asking.ts";
import { type HeldChanges } from "./mass-changes/held-changes.ts";
import { type NamespaceModes } from "./sources/namespace-modes.ts";
import { type Later, PacedQueue, type Work } from "./paced-queue.ts";
import { PresentSources } from "./protectors/present-sources.ts";
import { ProtectorCrd } from "./protectors/protector-crd.ts";
import { ProtectorLifecycle } from "./protectors/protector-lifecycle.ts";
import { Recreation } from "./protectors/recreation.ts";
import { ReleaseList } from "./protectors/releases.ts";
import { type SourceCaches } from "./sources/source-caches.ts";
import { needsNoFinalizer } from "./sources/source-choice.ts";
import { recordUnprotectable } from "./sources/source-events.ts";
import { inLogs, isGeneratedFor, protectorKeyOf, type WantedProtector } from "./sources/source-plan.ts";
import { foreignReason, type SourceCounts, SourceStates } from "./metrics/source-states.ts";
import { isFinished, isReleased, type Vanished, VanishedProtectors } from "./protectors/vanished-protectors.ts";
import { WantedProtectors } from "./protectors/wanted-protectors.ts";

/** The settings that the generator needs, under the names that they have in the Config. */
export type GeneratorSettings = Pick<
  Config["generator"],
  "deploymentPlugin" | "sourceSelector" | "queue" | "percentRounding" | "singleReplica"
> & {
  /** Of the list of releases: that of the cells' Leases. */
  readonly stateNamespace: string;
  /** In which PodProtectors are watched; undefined = all. */
  readonly coreNamespace: string | undefined;
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
  readonly #present: PresentSources;
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
      logger,
      onDue: (due) => this.#addAll(due),
    });
    const isWanted = (source: SourceRecord): boolean => this.#wanted.of(source, undefined) !== undefined;
    const [vanished, lifecycle] = [this.#vanished, this.#lifecycle];
    this.#present = new PresentSources({ sources: deps.sources, vanished, lifecycle, isWanted });
    this.#queue = new PacedQueue({
      config: config.queue,
      clock,
      rng,
      onReconcile: this.#observe.bind(this),
      due: (key) => this.#dueReconciliation(key),
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
    const { isCriterionDropped } = this.#lifecycle;
    return { ...sourceConditionsOf(source, this.#config, isCriterionDropped), ...held, Dangling: false };
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

  /** The source of this PodProtector, by what is known of either; undefined for other kinds and hand-made ones. */
  #refOf(key: ObjectKey): SourceRef | undefined {
    const { sources, protectors } = this.#deps;
    const stored = protectors.get(key);
    const generatedFor = stored && sources.refOf(stored.protector);
    return sources.get(key) ?? generatedFor ?? this.#vanished.get(key)?.source;
  }

  #dueReconciliation(key: ObjectKey): Work | Later | undefined {
    const { sources, protectors, changes } = this.#deps;
    const ref = this.#refOf(key);
    if (ref === undefined) {
      this.#states.forget(key);
      changes.gone(key);
      return undefined;
    }
    const stored = protectors.get(key);
    const vanished = stored === undefined ? this.#vanished.get(key) : undefined;
    const work: Work = (signal) => this.#reconcile(ref, signal);
    // Whether the source is there is not known. What has vanished is made again in any case.
    if (!sources.isKnown(ref.kind)) return vanished && work;
    const source = sources.get(key);
    const existing = stored !== undefined && isGeneratedFor(stored.protector, ref) ? stored : undefined;
    const wanted = source && this.#wanted.of(source, existing ?? vanished?.stored);
    if (source !== undefined && existing !== undefined) this.#dangling.forget(key);
    if (source === undefined || wanted === undefined) this.#states.forget(key);
    else if (existing !== undefined) this.#states.has(key, source.spec.floorBy(this.#config).kind);
    // Without a protector, a terminating source that we do not hold is about to be gone.
    else if (source.isTerminating && !source.finalizers.includes(finalizer)) this.#states.forget(key);
    else this.#states.lacks(key, stored === undefined ? undefined : foreignReason);
    if (vanished !== undefined) return work;
    if (source === undefined || existing === undefined) {
      changes.gone(key);
      return this.#isUpToDate(source, existing, wanted) ? undefined : work;
    }
    const judged = wanted === undefined && this.#isReleasing(existing) ? undefined : existing;
    const asked = askedBefore(changes, key, { stored: judged, source, wanted });
    if (asked === "held") return undefined;
    if ("waitMs" in asked) return asked;
    if (!this.#isUpToDate(source, existing, asked.kept ?? wanted)) return work;
    if (asked.kept === wanted) changes.settled(key, source, existing.protector);
    return undefined;
  }

  #isUpToDate(
    source: SourceRecord | undefined,
    existing: StoredProtector | undefined,
    wanted: WantedProtector | undefined,
  ): boolean {
    const isGone = existing === undefined || isFinished(existing);
    const isListed = existing !== undefined && this.#releases.isListed(existing.uid);
    if (source === undefined)
      return isGone || (this.#dangling.has(existing.key) && !isReleased(existing.protector) && !isListed);
    const isGuarded = source.finalizers.includes(finalizer);
    if (wanted === undefined) return isGone && !isGuarded;
    if (existing === undefined) return source.isTerminating && !isGuarded;
    if (isListed) return false;
    return (isGuarded || needsNoFinalizer(source)) && driftPatch(existing.protector, wanted) === undefined;
  }

  /**
   * Brings about what the source wants by its present state. The caches only say where to look. Each may lag behind a
   * protector just made, a source that was recreated, or what another generator has done. The protector is read first:
   * if anybody changes it after the source was read, the writes decided here fail, since they hold for its version.
   */
  async #reconcile(ref: SourceRef, signal: AbortSignal): Promise<Later | void> {
    const { namespace, kind } = ref;
    const { sources } = this.#deps;
    const key = protectorKeyOf(ref);
    const holder = await this.#lifecycle.nameHolder(ref, signal);
    const stored = holder.kind === "ours" ? holder.stored : undefined;
    const source = await this.#present.read(ref, holder.kind === "none", signal);
    const vanished = stored === undefined ? this.#vanished.get(key) : undefined;
    if (source === undefined) {
      if (vanished !== undefined && holder.kind === "none") return this.#recreation.recreate(vanished, signal);
      // While the cache has it, it is not gone: its resource may have ceased to be served just now.
      if (stored === undefined || !sources.isKnown(kind) || sources.get(key) !== undefined) return;
      if (isReleased(stored.protector)) await this.#release(stored, ref, "by hand", signal);
      else if (this.#mayKeep(stored)) this.#dangling.report(stored, kind);
      return;
    }
    const lost = holder.kind === "none" ? this.#vanished.absent(key) : vanished;
    const known = stored ?? lost?.stored;
    const wish = this.#wanted.of(source, known);
    // A release that has begun goes on. One that is to be kept after all has its floor as before.
    const hasPassed = wish === undefined && known !== undefined && this.#isReleasing(known);
    const asked = { stored: hasPassed ? undefined : known, source, wanted: wish };
    const verdict = await askedNow(this.#deps.changes, key, asked, signal);
    if (verdict.kind === "later") return verdict;
    const wanted = verdict.kept;
    if (wanted === undefined) {
      if (verdict.kind === "held")
        return lost !== undefined && holder.kind === "none" ? this.#recreation.recreate(lost, signal) : undefined;
      const cause = verdict.cause || `${source.isTerminating ? "deleted" : "not selected"} in ${namespace}`;
      if (stored !== undefined && !(await this.#release(stored, ref, cause, signal))) return;
      if (lost !== undefined && !this.#letGo(lost, cause)) return;
      await this.#lifecycle.removeSourceFinalizer(source, signal);
    } else if (holder.kind === "foreign") {
      await this.#leaveUnprotected(source, wanted, signal);
    } else if (await this.#lifecycle.guard(source, known !== undefined, signal)) {
      const floorBefore = verdict.kind === "pass" ? verdict.floorBefore : undefined;
      if (holder.kind === "ours") {
        if (this.#mayKeep(holder.stored)) await this.#lifecycle.sync(holder, wanted, signal, floorBefore);
      } else if ((await this.#recreation.create(wanted, lost, signal)) === "foreign") {
        const guarded = await this.#lifecycle.readSource(ref, signal);
        if (guarded !== undefined) await this.#leaveUnprotected(guarded, wanted, signal);
      }
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
    return !this.#isReleasing(stored) || this.#releases.mayKeep(stored.uid, stored.key);
  }

  /** Whether its release has begun, or a person asks for it. */
  #isReleasing({ protector, uid }: StoredProtector): boolean {
    return isReleased(protector) || this.#releases.isListed(uid);
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
    const ref = this.#refOf(key);
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
