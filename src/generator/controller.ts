/**
 * The generator of one core: keeps a PodProtector in force for every Deployment that wants one, and takes it away only when the Deployment
 * is deleted explicitly (a deletionTimestamp) or no longer selected. A Deployment that merely vanishes leaves its PodProtector dangling:
 * that is the disaster that the product exists for.
 *
 * Only the leader's queue runs; the caches are always warm. Keys: "source/<namespace>/<name>" and "cells/<namespace>/<name>".
 */
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { type DeploymentRecord } from "../api/deployment.ts";
import { annotations, finalizer, sourceLabels } from "../api/v1alpha1/names.ts";
import { planForDeployment, protectorNameOf, sourceLabelsOf, type WantedProtector } from "../core/deployment-plan.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { compileSelector, matches } from "../label-index/index.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";

import { type GeneratorAction, type GeneratorMetrics } from "./metrics.ts";
import { ProtectorLifecycle } from "./protector-lifecycle.ts";
import { removeCells } from "./remove-cells.ts";

export interface GeneratorConfig {
  /** Deployments that do not match want no protector. */
  readonly protectionSelector: LabelSelector;
  /** Keep protecting a terminating Deployment while it wants replicas. */
  readonly protectNonZero: boolean;
  readonly workerConcurrency: number;
  readonly workerBackoffBaseMs: number;
  readonly workerBackoffMaxMs: number;
  readonly workerBackoffConflictMs: number;
}

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

export class Generator {
  readonly #config: GeneratorConfig;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  /** Source keys that generated protectors point to: which protectors exist for a source. */
  readonly #protectorsOfSource = new Map<string, Set<string>>();
  /** Protectors reported as dangling by this process, so that each is reported once. */
  readonly #dangling = new Set<string>();
  #queue: WorkQueue<string> | undefined;

  constructor(config: GeneratorConfig, deps: GeneratorDependencies) {
    this.#config = config;
    this.#deps = deps;
    this.#lifecycle = new ProtectorLifecycle({
      core: deps.core,
      onAction: (action, object) => this.#acted(action, object),
    });
    deps.deployments.subscribe({ onEvent: (event) => this.#queue?.add(`source/${event.object.key}`) });
    deps.protectors.subscribe({ onEvent: (event) => this.#protectorEvent(event) });
  }

  hasSynced(): boolean {
    return this.#deps.deployments.hasSynced() && this.#deps.protectors.hasSynced();
  }

  /** The work of the leader, until the signal aborts; resolves when what was begun has ended. Call it when the caches are synced. */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, rng, metrics } = this.#deps;
    const labels = { group: "apps", version: "v1", resource: "deployments", namespace: "" };
    this.#queue = createWorkQueue<string>({
      clock,
      rng,
      concurrency: this.#config.workerConcurrency,
      backoffBaseMs: this.#config.workerBackoffBaseMs,
      backoffMaxMs: this.#config.workerBackoffMaxMs,
      conflictBackoffMs: this.#config.workerBackoffConflictMs,
      process: (key, queueSignal) => this.#process(key, queueSignal),
      observer: {
        onReconcile: (durationMs, outcome) => {
          const error =
            outcome.kind === "failed" ? (isKubeError(outcome.error) ? outcome.error.kind : "unknown") : "nil";
          metrics.reconcile.observe({ ...labels, error }, durationMs / 1000);
        },
      },
    });
    for (const deployment of this.#deps.deployments.values()) this.#queue.add(`source/${deployment.key}`);
    for (const key of this.#protectorsOfSource.keys()) this.#queue.add(`source/${key}`);
    for (const stored of this.#deps.protectors.values()) {
      if (stored.protector.metadata.annotations?.[annotations.removeCellOnce] !== undefined)
        this.#queue.add(`cells/${stored.key}`);
    }
    await this.#queue.run(signal);
    this.#queue = undefined;
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    const { object } = event;
    const source = this.#sourceKeyOf(object);
    const before = event.type === "modified" ? this.#sourceKeyOf(event.previous) : undefined;
    for (const key of [before, source]) {
      if (key === undefined) continue;
      const known = this.#protectorsOfSource.get(key) ?? new Set();
      if (event.type === "deleted" || key !== source) known.delete(object.key);
      else known.add(object.key);
      if (known.size === 0) this.#protectorsOfSource.delete(key);
      else this.#protectorsOfSource.set(key, known);
      this.#queue?.add(`source/${key}`);
    }
    if (event.type === "deleted") this.#dangling.delete(object.key);
    else if (object.protector.metadata.annotations?.[annotations.removeCellOnce] !== undefined)
      this.#queue?.add(`cells/${object.key}`);
  }

  /**
   * The Deployment that a generated protector belongs to; undefined for a hand-made one. The owner reference has the whole name, where
   * the label may have been shortened.
   */
  #sourceKeyOf({ protector }: StoredProtector): string | undefined {
    const { labels = {}, namespace, name, ownerReferences = [] } = protector.metadata;
    if (labels[sourceLabels.kind] !== "Deployment" || labels[sourceLabels.group] !== "apps") return undefined;
    const owner = ownerReferences.find(
      ({ kind, apiVersion }) => kind === "Deployment" && apiVersion.startsWith("apps/"),
    );
    const source = owner?.name ?? labels[sourceLabels.name];
    if (source === undefined || sourceLabelsOf(source)[sourceLabels.name] !== labels[sourceLabels.name])
      return undefined;
    // A person may copy labels to an object of their own; only the derived name makes it ours.
    return protectorNameOf(source) === name ? `${namespace}/${source}` : undefined;
  }

  async #process(key: string, signal: AbortSignal): Promise<Outcome> {
    const slash = key.indexOf("/");
    const objectKey = key.slice(slash + 1);
    try {
      if (key.startsWith("cells/")) {
        const stored = this.#deps.protectors.get(objectKey);
        if (stored !== undefined) await removeCells(this.#deps.core, stored, signal);
      } else {
        await this.#reconcileSource(objectKey, signal);
      }
      return { kind: "done" };
    } catch (error) {
      if (isKubeError(error, "conflict")) return { kind: "conflict" };
      if (!signal.aborted) this.#deps.logger.error("reconcile error", { key, err: error });
      return { kind: "failed", error };
    }
  }

  async #reconcileSource(key: string, signal: AbortSignal): Promise<void> {
    const source = this.#deps.deployments.get(key);
    const existing = [...(this.#protectorsOfSource.get(key) ?? [])]
      .map((protectorKey) => this.#deps.protectors.get(protectorKey))
      .filter((stored) => stored !== undefined);
    if (source === undefined) {
      for (const stored of existing) this.#reportDangling(stored);
      return;
    }
    for (const stored of existing) this.#dangling.delete(stored.key);

    const wanted = this.#wantedFor(source);
    if (wanted !== undefined) {
      await this.#lifecycle.keep(source, wanted, existing[0], signal);
      return;
    }
    for (const stored of existing) await this.#lifecycle.release(stored, signal);
    if (source.finalizers.includes(finalizer)) await this.#lifecycle.removeSourceFinalizer(source, signal);
  }

  #wantedFor(source: DeploymentRecord): WantedProtector | undefined {
    if (source.isTerminating && !(this.#config.protectNonZero && (source.facts.replicas ?? 1) > 0)) return undefined;
    const selector = compileSelector(this.#config.protectionSelector);
    if (!selector.ok || !matches(selector.selector, source.labels)) return undefined;
    return planForDeployment(source.facts);
  }

  #reportDangling(stored: StoredProtector): void {
    if (this.#dangling.has(stored.key)) return;
    this.#dangling.add(stored.key);
    const isTerminating = stored.protector.metadata.deletionTimestamp !== undefined;
    this.#acted(isTerminating ? "Finalizing" : "Dangling", stored.protector.metadata);
    this.#deps.logger.warn(
      "the source of a PodProtector vanished without being deleted; the protector stays in force",
      { podProtector: stored.key },
    );
    const { namespace, name } = stored.protector.metadata;
    this.#deps.events.record(
      { apiVersion: stored.protector.apiVersion, kind: "PodProtector", namespace, name, uid: stored.uid },
      "Warning",
      "Dangling",
      "The source Deployment vanished without being deleted. This PodProtector stays in force; delete it by hand once the workload is really gone.",
    );
  }

  #acted(action: GeneratorAction, object: { readonly namespace: string; readonly name: string }): void {
    this.#deps.metrics.actions.inc({
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: object.namespace,
      action,
    });
    this.#deps.logger.verbose(3, "generator action", { action, namespace: object.namespace, name: object.name });
  }
}
