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
import { annotations, finalizer } from "../api/v1alpha1/names.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient, KubeError, type KubeErrorKind } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { messageOf } from "../util/error-message.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { type Outcome } from "../work-queue/index.ts";
import {
  deploymentNameOf,
  isGeneratedFor,
  planForDeployment,
  protectorNameOf,
  type WantedProtector,
} from "./deployment-plan.ts";
import { driftPatch } from "./drift.ts";
import { floorConditions } from "./floor-conditions.ts";
import { floorOf } from "./floor.ts";
import { type GeneratorAction, type GeneratorMetrics, type GeneratorSizes } from "./metrics.ts";
import { PacedQueue, type Work } from "./paced-queue.ts";
import { ProtectorLifecycle } from "./protector-lifecycle.ts";
import { type SourceCounts, SourceStates } from "./source-states.ts";

/** The settings that the generator needs, under the names that they have in the Config. */
export type GeneratorSettings = Pick<
  Config["generator"],
  "deploymentPlugin" | "queue" | "percentRounding" | "singleReplica"
>;

export interface GeneratorDependencies {
  readonly core: KubeClient;
  readonly deployments: Informer<DeploymentRecord>;
  readonly protectors: Informer<StoredProtector>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: GeneratorMetrics;
}

/** Why a Deployment lacks its PodProtector, where it is no error of the API server. */
const foreignReason = "ForeignPodProtector";

class ForeignProtectorError extends KubeError {}

/** Somebody has to do something about these (a right, a quota, a policy, the CRD). Others go by themselves. */
const lastingErrors: ReadonlySet<KubeErrorKind> = new Set(["forbidden", "invalid", "notFound"]);

/** Metric labels, all but the namespace. Deployments are the only kind of source. */
const sourceLabels = { group: "apps", version: "v1", resource: "deployments" } as const;

export class Generator {
  readonly #config: GeneratorSettings;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  /** Deployments, each with its PodProtector. */
  readonly #sources: PacedQueue;
  readonly #protectionSelector: CompiledSelector;
  readonly #states = new SourceStates();
  /** Protectors reported as dangling by this process, so that each is reported once. */
  readonly #dangling = new Set<ObjectKey>();

  constructor(config: GeneratorSettings, deps: GeneratorDependencies) {
    // Checked by the configuration. A selector that selects nothing by mistake would let every protector go.
    const selector = compileSelector(config.deploymentPlugin.protectionSelector);
    assert(selector.ok, "the protection selector is valid");
    this.#protectionSelector = selector.selector;
    this.#config = config;
    this.#deps = deps;
    this.#lifecycle = new ProtectorLifecycle({
      core: deps.core,
      onAction: (action, object) => this.#acted(action, object),
    });
    const { clock, rng, logger } = deps;
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
    if (key === undefined || isReleased(stored)) return {};
    const source = this.#deps.deployments.get(key);
    if (source !== undefined) {
      const isWanted = this.#wantedFor(source) !== undefined;
      return isWanted ? { ...floorConditions(source.facts, floorOf(source.facts, this.#config)), Dangling: false } : {};
    }
    if (!this.#dangling.has(stored.key)) return {};
    const message = `Deployment ${partsOf(key).name} vanished without being deleted. This PodProtector stays in force`;
    return { Dangling: { reason: "SourceVanished", message } };
  }

  /** For gauges; a standby queues nothing. */
  sizes(): GeneratorSizes {
    return { queue: this.#sources.size, paced: this.#sources.paced };
  }

  /**
   * The work of the leader, until the signal aborts; resolves when what was begun has ended. Call it when the caches
   * are synced.
   */
  async lead(signal: AbortSignal): Promise<void> {
    const { deployments, protectors } = this.#deps;
    const sources = [...deployments.values()].map(({ key }) => key);
    for (const { protector } of protectors.values()) {
      const source = sourceKeyOf(protector);
      if (source !== undefined) sources.push(source);
    }
    await this.#sources.run(sources, signal);
    this.#states.clear();
  }

  #observe(durationMs: number, outcome: Outcome): void {
    const error = outcome.kind === "failed" ? errorLabel(outcome.error) : "nil";
    this.#deps.metrics.reconcile.observe({ ...sourceLabels, namespace: "", error }, durationMs / 1000);
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { key, protector } = event.object;
    if (event.type === "modified") this.#addSourceOf(event.previous.protector);
    this.#addSourceOf(protector);
    if (event.type === "deleted") this.#dangling.delete(key);
    // Somebody else's, which has let go of the name, or has been given our marks.
    const lacking = this.#states.lackedBy(key);
    if (lacking !== undefined) this.#sources.add(lacking);
  }

  #addSourceOf(protector: PodProtector): void {
    const key = sourceKeyOf(protector);
    if (key !== undefined) this.#sources.add(key);
  }

  #dueReconciliation(key: ObjectKey): Work | undefined {
    const { namespace, name } = partsOf(key);
    const source = this.#deps.deployments.get(key);
    const protectorKey = objectKey(namespace, protectorNameOf(name));
    const stored = this.#deps.protectors.get(protectorKey);
    const existing = stored !== undefined && isGeneratedFor(stored.protector, name) ? stored : undefined;
    if (source !== undefined && existing !== undefined) this.#dangling.delete(existing.key);
    if (source === undefined || this.#wantedFor(source) === undefined) this.#states.forget(key);
    else if (existing !== undefined) this.#states.has(key, floorOf(source.facts, this.#config).kind);
    // Without a protector, a terminating source that we do not hold is about to be gone.
    else if (source.isTerminating && !source.finalizers.includes(finalizer)) this.#states.forget(key);
    else this.#states.lacks(key, protectorKey, stored === undefined ? undefined : foreignReason);
    return this.#isUpToDate(source, existing) ? undefined : (signal) => this.#reconcile(namespace, name, signal);
  }

  #isUpToDate(source: DeploymentRecord | undefined, existing: StoredProtector | undefined): boolean {
    const isGone = existing === undefined || isFinished(existing);
    if (source === undefined) return isGone || (this.#dangling.has(existing.key) && !isReleased(existing));
    const wanted = this.#wantedFor(source);
    const isGuarded = source.finalizers.includes(finalizer);
    if (wanted === undefined) return isGone && !isGuarded;
    // A terminating source accepts no finalizer.
    if (existing === undefined) return source.isTerminating && !isGuarded;
    return (isGuarded || source.isTerminating) && driftPatch(existing.protector, wanted) === undefined;
  }

  /**
   * Brings about what the source wants by its present state. The caches only say where to look. Each may lag behind a
   * protector just made, a source that was recreated, or what another generator has done. The protector is read first:
   * if anybody changes it after the source was read, the writes decided here fail, since they hold for its version.
   */
  async #reconcile(namespace: string, name: string, signal: AbortSignal): Promise<void> {
    const holder = await this.#lifecycle.nameHolder(namespace, name, signal);
    const stored = holder.kind === "ours" ? holder.stored : undefined;
    const source = await this.#lifecycle.readSource(namespace, name, signal);
    if (source === undefined) {
      if (stored === undefined) return;
      if (isReleased(stored)) await this.#lifecycle.release(stored, signal);
      else this.#reportDangling(stored);
      return;
    }
    const wanted = this.#wantedFor(source);
    if (wanted === undefined) {
      if (stored !== undefined) await this.#lifecycle.release(stored, signal);
      await this.#lifecycle.removeSourceFinalizer(source, signal);
    } else if (holder.kind === "foreign") {
      await this.#leaveUnprotected(source, wanted, signal);
    } else if (await this.#lifecycle.guard(source, stored !== undefined, signal)) {
      if (stored !== undefined) await this.#lifecycle.sync(stored, wanted, signal);
      else if ((await this.#lifecycle.create(wanted, name, signal)) === "foreign") {
        const guarded = await this.#lifecycle.readSource(namespace, name, signal);
        if (guarded !== undefined) await this.#leaveUnprotected(guarded, wanted, signal);
      }
    }
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
    const { namespace, name } = source.facts;
    const isForeign = error instanceof ForeignProtectorError;
    const protectorKey = objectKey(namespace, protectorNameOf(name));
    this.#states.lacks(key, protectorKey, isForeign ? foreignReason : errorLabel(error));
    if (!isKubeError(error) || !lastingErrors.has(error.kind)) return;
    this.#deps.events.record(
      { apiVersion: "apps/v1", kind: "Deployment", namespace, name, uid: source.uid },
      "Warning",
      "Unprotectable",
      `This Deployment is not protected: its PodProtector cannot be created. ${messageOf(error)}`,
    );
  }

  #wantedFor(source: DeploymentRecord): WantedProtector | undefined {
    if (source.isTerminating && !(this.#config.deploymentPlugin.protectNonZero && (source.facts.replicas ?? 1) > 0))
      return undefined;
    return matches(this.#protectionSelector, source.labels) ? planForDeployment(source.facts, this.#config) : undefined;
  }

  #reportDangling(stored: StoredProtector): void {
    if (this.#dangling.has(stored.key)) return;
    this.#dangling.add(stored.key);
    const isTerminating = stored.protector.metadata.deletionTimestamp !== undefined;
    this.#acted(isTerminating ? "Finalizing" : "Dangling", stored.protector.metadata);
    this.#deps.logger.warn("The source of a PodProtector vanished without being deleted, keeping it in force", {
      podProtector: stored.key,
    });
    const { namespace, name } = stored.protector.metadata;
    this.#deps.events.record(
      { apiVersion: stored.protector.apiVersion, kind: "PodProtector", namespace, name, uid: stored.uid },
      "Warning",
      "Dangling",
      "The source Deployment vanished without being deleted. This PodProtector stays in force. " +
        `Once the workload is really gone, annotate it with ${annotations.released}=true, and it will be deleted.`,
    );
  }

  #acted(action: GeneratorAction, object: { readonly namespace: string; readonly name: string }): void {
    const { namespace, name } = object;
    this.#deps.metrics.actions.inc({ ...sourceLabels, namespace, action });
    this.#deps.logger.verbose(3, "Acted", { action, namespace, name });
  }
}

/** The key of the Deployment that a PodProtector was generated for; undefined for a hand-made one. */
function sourceKeyOf(protector: PodProtector): ObjectKey | undefined {
  const name = deploymentNameOf(protector);
  return name === undefined ? undefined : objectKey(protector.metadata.namespace, name);
}

/** Whether nothing is left to be done for its end: only finalizers of others keep it. */
function isFinished(stored: StoredProtector): boolean {
  const { deletionTimestamp, finalizers = [] } = stored.protector.metadata;
  return isReleased(stored) && deletionTimestamp !== undefined && !finalizers.includes(finalizer);
}

/** If its source is gone too, it is to be deleted: a generator has begun that, or a person asks for it. */
function isReleased({ protector }: StoredProtector): boolean {
  return protector.metadata.annotations?.[annotations.released] !== undefined;
}
