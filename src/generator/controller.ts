/**
 * The generator of one core: keeps a PodProtector in force for every Deployment that wants one, and takes it away only
 * when the Deployment is deleted explicitly (a deletionTimestamp) or no longer selected. A Deployment that merely
 * vanishes leaves its PodProtector dangling: that is the disaster that the product exists for
 * (docs/generator.md#lifecycle).
 *
 * The caches are always warm; only the leader's queue runs. Cells are the business of cell-controller.ts.
 */
import { type DeploymentRecord } from "../api/deployment.ts";
import { type ObjectKey, objectKey, partsOf } from "../api/object-key.ts";
import { type FoundConditions } from "../api/v1alpha1/conditions.ts";
import { finalizer } from "../api/v1alpha1/names.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, type KubeClient, KubeError } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { type Outcome } from "../work-queue/index.ts";
import { DanglingProtectors } from "./dangling-protectors.ts";
import {
  isGeneratedFor,
  planForDeployment,
  protectorNameOf,
  sourceKeyOf,
  type WantedProtector,
} from "./deployment-plan.ts";
import { driftPatch } from "./drift.ts";
import { floorConditions } from "./floor-conditions.ts";
import { floorOf } from "./floor.ts";
import { type GeneratorAction, type GeneratorMetrics, type GeneratorSizes, type GeneratorTroubles } from "./metrics.ts";
import { askedBefore, askedNow } from "./mass-changes/asking.ts";
import { type HeldChanges } from "./mass-changes/held-changes.ts";
import { type Later, PacedQueue, type Work } from "./paced-queue.ts";
import { ProtectorCrd } from "./protector-crd.ts";
import { ProtectorLifecycle } from "./protector-lifecycle.ts";
import { Recreation } from "./recreation.ts";
import { ReleaseList } from "./releases.ts";
import { recordUnprotectable } from "./source-events.ts";
import { type SourceCounts, SourceStates } from "./source-states.ts";
import { isFinished, isReleased, type Vanished, VanishedProtectors } from "./vanished-protectors.ts";

/** The settings that the generator needs, under the names that they have in the Config. */
export type GeneratorSettings = Pick<
  Config["generator"],
  "deploymentPlugin" | "queue" | "percentRounding" | "singleReplica"
> & {
  /** Of the list of releases: that of the cells' Leases. */
  readonly stateNamespace: string;
  /** In which PodProtectors are watched; undefined = all. */
  readonly coreNamespace: string | undefined;
};

export interface GeneratorDependencies {
  readonly core: KubeClient;
  readonly deployments: Informer<DeploymentRecord>;
  readonly protectors: Informer<StoredProtector>;
  readonly events: EventRecorder;
  /** Is asked before anything is released or lowered. */
  readonly changes: HeldChanges;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: GeneratorMetrics;
}

/** Why a Deployment lacks its PodProtector, where it is no error of the API server. */
const foreignReason = "ForeignPodProtector";

class ForeignProtectorError extends KubeError {}

/** Metric labels, all but the namespace. Deployments are the only kind of source. */
const sourceLabels = { group: "apps", version: "v1", resource: "deployments" } as const;

export class Generator {
  readonly #config: GeneratorSettings;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  readonly #releases: ReleaseList;
  readonly #vanished: VanishedProtectors;
  readonly #crd: ProtectorCrd;
  readonly #recreation: Recreation;
  /** Deployments, each with its PodProtector. */
  readonly #sources: PacedQueue;
  readonly #protectionSelector: CompiledSelector;
  readonly #states = new SourceStates();
  #isLeading = false;
  readonly #dangling: DanglingProtectors;

  constructor(config: GeneratorSettings, deps: GeneratorDependencies) {
    // Checked by the configuration. A selector that selects nothing by mistake would let every protector go.
    const selector = compileSelector(config.deploymentPlugin.protectionSelector);
    assert(selector.ok, "the protection selector is valid");
    this.#protectionSelector = selector.selector;
    this.#config = config;
    this.#deps = deps;
    const { core, protectors, events, clock, rng, logger, metrics } = deps;
    const onAction = this.#acted.bind(this);
    this.#lifecycle = new ProtectorLifecycle({ core, onAction });
    this.#dangling = new DanglingProtectors({ events, logger, onAction });
    this.#releases = new ReleaseList({
      core,
      namespace: config.stateNamespace,
      clock,
      logger,
      failures: metrics.releaseListFailures,
      onWritten: (sources) => this.#addAll(sources),
      onRead: () => this.#addListed(),
    });
    const isLetGo = this.#releases.isLetGo.bind(this.#releases);
    this.#vanished = new VanishedProtectors({ protectors, isLetGo, clock, logger });
    const namespace = config.coreNamespace;
    const onBack = (): void => this.#addAll(this.#allSources());
    this.#crd = new ProtectorCrd({ core, namespace, events, clock, logger, onBack });
    this.#recreation = new Recreation({
      vanished: this.#vanished,
      lifecycle: this.#lifecycle,
      releases: this.#releases,
      crd: this.#crd,
      events,
      logger,
      onDue: (due) => this.#addAll(due),
    });
    this.#sources = new PacedQueue({
      config: config.queue,
      clock,
      rng,
      onReconcile: this.#observe.bind(this),
      due: (key) => this.#dueReconciliation(key),
      onFailed: (deployment, err) => {
        logger.error("Cannot reconcile a Deployment, retrying", { deployment, err });
        this.#failed(deployment, err);
      },
    });
    deps.deployments.subscribe({ onEvent: (event) => this.#sources.add(event.object.key) });
    deps.protectors.subscribe({ onEvent: (event) => this.#protectorEvent(event) });
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
    const key = sourceKeyOf(stored.protector);
    if (key === undefined || isReleased(stored.protector)) return {};
    const source = this.#deps.deployments.get(key);
    if (source !== undefined) {
      const held = this.#deps.changes.found(key);
      if (this.#wantedFor(source) === undefined) return held;
      return { ...floorConditions(source.facts, floorOf(source.facts, this.#config)), ...held, Dangling: false };
    }
    return this.#dangling.found(stored, key);
  }

  /** For gauges. */
  troubles(): GeneratorTroubles {
    const isLeading = this.#isLeading;
    return {
      vanished: isLeading ? this.#vanished.size : 0,
      waitingReleases: this.#releases.waiting,
      isCrdLost: this.#crd.isLost,
    };
  }

  /** For gauges; a standby queues nothing. */
  sizes(): GeneratorSizes {
    return { queue: this.#sources.size, paced: this.#sources.paced };
  }

  /** Keeps what this process remembers of vanished PodProtectors up to date, until the signal aborts. */
  async observe(signal: AbortSignal): Promise<void> {
    await this.#vanished.observe((vanished) => this.#addAll(vanished.map(({ source }) => source)), signal);
  }

  /**
   * The work of the leader, until the signal aborts; resolves when what was begun has ended. Call it when the caches
   * are synced.
   */
  async lead(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    await Promise.all([
      // First: it forgets the term before, and the queue begins at once.
      this.#deps.changes.lead((key) => this.#sources.add(key), signal),
      this.#sources.run(this.#allSources(), signal),
      this.#releases.lead(signal),
      this.#crd.lead(signal),
    ]);
    this.#isLeading = false;
    this.#states.clear();
  }

  #allSources(): readonly ObjectKey[] {
    const { deployments, protectors } = this.#deps;
    const generatedFor = [...protectors.values()].map(({ protector }) => sourceKeyOf(protector));
    const vanished = [...this.#vanished.values()].map(({ source }) => source);
    const present = [...deployments.values()].map(({ key }) => key);
    return [...present, ...generatedFor.filter((key) => key !== undefined), ...vanished];
  }

  #observe(durationMs: number, outcome: Outcome): void {
    const error = outcome.kind === "failed" ? errorLabel(outcome.error) : "nil";
    this.#deps.metrics.reconcile.observe({ ...sourceLabels, namespace: "", error }, durationMs / 1000);
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, protector } = event.object;
    if (event.type === "modified") this.#addSourceOf(event.previous.protector);
    this.#addSourceOf(protector);
    if (event.type === "deleted") this.#dangling.forget(key);
    // Somebody else's, which has let go of the name, or has been given our marks.
    const lacking = this.#states.lackedBy(key);
    if (lacking !== undefined) this.#sources.add(lacking);
    this.#recreation.watched(event);
  }

  #addAll(sources: readonly ObjectKey[]): void {
    for (const source of sources) this.#sources.add(source);
  }

  /** Another leader may have begun a release that is to be called off. */
  #addListed(): void {
    for (const { uid, protector } of this.#deps.protectors.values())
      if (this.#releases.isListed(uid)) this.#addSourceOf(protector);
  }

  #addSourceOf(protector: PodProtector): void {
    const key = sourceKeyOf(protector);
    if (key !== undefined) this.#sources.add(key);
  }

  #dueReconciliation(key: ObjectKey): Work | Later | undefined {
    const { namespace, name } = partsOf(key);
    const source = this.#deps.deployments.get(key);
    const protectorKey = objectKey(namespace, protectorNameOf(name));
    const stored = this.#deps.protectors.get(protectorKey);
    const existing = stored !== undefined && isGeneratedFor(stored.protector, name) ? stored : undefined;
    if (source !== undefined && existing !== undefined) this.#dangling.forget(existing.key);
    if (source === undefined || this.#wantedFor(source) === undefined) this.#states.forget(key);
    else if (existing !== undefined) this.#states.has(key, floorOf(source.facts, this.#config).kind);
    // Without a protector, a terminating source that we do not hold is about to be gone.
    else if (source.isTerminating && !source.finalizers.includes(finalizer)) this.#states.forget(key);
    else this.#states.lacks(key, protectorKey, stored === undefined ? undefined : foreignReason);
    const isVanished = stored === undefined && this.#vanished.get(protectorKey) !== undefined;
    const work: Work = (signal) => this.#reconcile(namespace, name, signal);
    if (isVanished) return work;
    if (source === undefined || existing === undefined) {
      this.#deps.changes.gone(key);
      return this.#isUpToDate(source, existing, undefined) ? undefined : work;
    }
    const wanted = this.#wantedFor(source);
    const judged = wanted === undefined && this.#isReleasing(existing) ? undefined : existing;
    const asked = askedBefore(this.#deps.changes, { stored: judged, source, wanted });
    if (asked === "held") return undefined;
    if ("waitMs" in asked) return asked;
    if (!this.#isUpToDate(source, existing, asked.kept)) return work;
    if (asked.kept === wanted) this.#deps.changes.settled(key, source);
    return undefined;
  }

  #isUpToDate(
    source: DeploymentRecord | undefined,
    existing: StoredProtector | undefined,
    kept: WantedProtector | undefined,
  ): boolean {
    const isGone = existing === undefined || isFinished(existing);
    const isListed = existing !== undefined && this.#releases.isListed(existing.uid);
    if (source === undefined)
      return isGone || (this.#dangling.has(existing.key) && !isReleased(existing.protector) && !isListed);
    const wanted = kept ?? this.#wantedFor(source);
    const isGuarded = source.finalizers.includes(finalizer);
    if (wanted === undefined) return isGone && !isGuarded;
    // A terminating source accepts no finalizer.
    if (existing === undefined) return source.isTerminating && !isGuarded;
    if (isListed) return false;
    return (isGuarded || source.isTerminating) && driftPatch(existing.protector, wanted) === undefined;
  }

  /**
   * Brings about what the source wants by its present state. The caches only say where to look. Each may lag behind a
   * protector just made, a source that was recreated, or what another generator has done. The protector is read first:
   * if anybody changes it after the source was read, the writes decided here fail, since they hold for its version.
   */
  async #reconcile(namespace: string, name: string, signal: AbortSignal): Promise<Later | void> {
    const holder = await this.#lifecycle.nameHolder(namespace, name, signal);
    const stored = holder.kind === "ours" ? holder.stored : undefined;
    const source = await this.#lifecycle.readSource(namespace, name, signal);
    const key = objectKey(namespace, name);
    const vanished = stored === undefined ? this.#vanished.get(objectKey(namespace, protectorNameOf(name))) : undefined;
    if (source === undefined) {
      if (stored !== undefined && isReleased(stored.protector)) await this.#release(stored, key, "by hand", signal);
      else if (stored !== undefined && this.#mayKeep(stored, key)) this.#dangling.report(stored);
      else if (vanished !== undefined && holder.kind === "none") return this.#recreation.recreate(vanished, signal);
      return;
    }
    const known = stored ?? vanished?.stored;
    const wish = this.#wantedFor(source);
    // A release that has begun goes on. One that is to be kept after all has its floor as before.
    const hasPassed = wish === undefined && known !== undefined && this.#isReleasing(known);
    const asked = { stored: hasPassed ? undefined : known, source, wanted: wish };
    const verdict = await askedNow(this.#deps.changes, asked, signal);
    if (verdict.kind === "later") return verdict;
    const wanted = verdict.kept;
    if (wanted === undefined) {
      const isLost = verdict.kind === "held" && vanished !== undefined && holder.kind === "none";
      if (isLost) return this.#recreation.recreate(vanished, signal);
      if (verdict.kind === "held") return;
      const cause = verdict.cause || `${source.isTerminating ? "deleted" : "not selected"} in ${namespace}`;
      if (stored !== undefined && !(await this.#release(stored, key, cause, signal))) return;
      if (vanished !== undefined && !this.#letGo(vanished, cause)) return;
      await this.#lifecycle.removeSourceFinalizer(source, signal);
    } else if (holder.kind === "foreign") {
      await this.#leaveUnprotected(source, wanted, signal);
    } else if (await this.#lifecycle.guard(source, (stored ?? vanished) !== undefined, signal)) {
      const floorBefore = verdict.kind === "pass" ? verdict.floorBefore : undefined;
      if (stored !== undefined) {
        if (this.#mayKeep(stored, key)) await this.#lifecycle.sync(stored, wanted, signal, floorBefore);
      } else if ((await this.#lifecycle.create(wanted, name, vanished?.stored.protector, signal)) === "foreign") {
        const guarded = await this.#lifecycle.readSource(namespace, name, signal);
        if (guarded !== undefined) await this.#leaveUnprotected(guarded, wanted, signal);
      }
    }
  }

  /** The one place where a PodProtector is released. False: it waits for its entry in the list of releases. */
  async #release(stored: StoredProtector, source: ObjectKey, cause: string, signal: AbortSignal): Promise<boolean> {
    if (!isFinished(stored) && !this.#releases.mayRelease(stored.uid, cause, source)) return false;
    await this.#lifecycle.release(stored, signal);
    return true;
  }

  /** As `release`, of one that has vanished: whoever remembers it learns that it is gone for good. */
  #letGo({ stored, source }: Vanished, cause: string): boolean {
    if (!this.#releases.mayRelease(stored.uid, cause, source)) return false;
    this.#vanished.forget(stored.key);
    return true;
  }

  /** False: it is in the list of releases, and has to leave that before it is kept. */
  #mayKeep(stored: StoredProtector, source: ObjectKey): boolean {
    return !this.#isReleasing(stored) || this.#releases.mayKeep(stored.uid, source);
  }

  /** Whether its release has begun, or a person asks for it. */
  #isReleasing({ protector, uid }: StoredProtector): boolean {
    return isReleased(protector) || this.#releases.isListed(uid);
  }

  /** Somebody else's PodProtector has the name: it stays as it is, and the source is not held for nothing. */
  async #leaveUnprotected(source: DeploymentRecord, wanted: WantedProtector, signal: AbortSignal): Promise<void> {
    await this.#lifecycle.removeSourceFinalizer(source, signal);
    const { namespace, name } = wanted;
    throw new ForeignProtectorError(
      "invalid",
      `PodProtector ${namespace}/${name} exists, but lacks the source labels of a generated one; rename or delete it`,
    );
  }

  /** A Deployment that lacks its PodProtector must not be unprotected in silence. */
  #failed(key: ObjectKey, error: unknown): void {
    const source = this.#deps.deployments.get(key);
    if (source === undefined || !this.#states.isLacking(key)) return;
    const { namespace, name } = partsOf(key);
    const isForeign = error instanceof ForeignProtectorError;
    const protectorKey = objectKey(namespace, protectorNameOf(name));
    this.#states.lacks(key, protectorKey, isForeign ? foreignReason : errorLabel(error));
    recordUnprotectable(this.#deps.events, source, error);
  }

  #wantedFor(source: DeploymentRecord): WantedProtector | undefined {
    if (source.isTerminating && !(this.#config.deploymentPlugin.protectNonZero && (source.facts.replicas ?? 1) > 0))
      return undefined;
    return matches(this.#protectionSelector, source.labels) ? planForDeployment(source.facts, this.#config) : undefined;
  }

  #acted(action: GeneratorAction, object: { readonly namespace: string; readonly name: string }): void {
    const { namespace, name } = object;
    this.#deps.metrics.actions.inc({ ...sourceLabels, namespace, action });
    this.#deps.logger.verbose(3, "Acted", { action, namespace, name });
  }
}
