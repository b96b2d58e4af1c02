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
import { annotations, finalizer } from "../api/v1alpha1/names.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { type Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, type KubeClient } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
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
import { type GeneratorAction, type GeneratorMetrics, type GeneratorSizes } from "./metrics.ts";
import { PacedQueue, type Work } from "./paced-queue.ts";
import { ProtectorLifecycle } from "./protector-lifecycle.ts";

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

/** Metric labels, all but the namespace. Deployments are the only kind of source. */
const sourceLabels = { group: "apps", version: "v1", resource: "deployments" } as const;

export class Generator {
  readonly #config: GeneratorSettings;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  /** Deployments, each with its PodProtector. */
  readonly #sources: PacedQueue;
  readonly #protectionSelector: CompiledSelector;
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
      onFailed: (deployment, err) => logger.error("Cannot reconcile a Deployment, retrying", { deployment, err }),
    });
    deps.deployments.subscribe({ onEvent: (event) => this.#sources.add(event.object.key) });
    deps.protectors.subscribe({ onEvent: (event) => this.#protectorEvent(event) });
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
  }

  #addSourceOf(protector: PodProtector): void {
    const key = sourceKeyOf(protector);
    if (key !== undefined) this.#sources.add(key);
  }

  #dueReconciliation(key: ObjectKey): Work | undefined {
    const { namespace, name } = partsOf(key);
    const source = this.#deps.deployments.get(key);
    const stored = this.#deps.protectors.get(objectKey(namespace, protectorNameOf(name)));
    const existing = stored !== undefined && isGeneratedFor(stored.protector, name) ? stored : undefined;
    if (source !== undefined && existing !== undefined) this.#dangling.delete(existing.key);
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
    const stored = await this.#lifecycle.readGenerated(namespace, name, signal);
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
      if (source.finalizers.includes(finalizer)) await this.#lifecycle.removeSourceFinalizer(source, signal);
    } else if (await this.#lifecycle.guard(source, stored !== undefined, signal)) {
      if (stored === undefined) await this.#lifecycle.create(wanted, name, signal);
      else await this.#lifecycle.sync(stored, wanted, signal);
    }
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
