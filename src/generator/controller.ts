/**
 * The generator of one core: keeps a PodProtector in force for every Deployment that wants one, and takes it away only
 * when the Deployment is deleted explicitly (a deletionTimestamp) or no longer selected. A Deployment that merely
 * vanishes leaves its PodProtector dangling: that is the disaster that the product exists for.
 *
 * Only the leader's queue runs; the caches are always warm. Keys: "source/<namespace>/<name>" and
 * "cells/<namespace>/<name>".
 */
import { type DeploymentRecord } from "../api/deployment.ts";
import { annotations, finalizer } from "../api/v1alpha1/names.ts";
import {
  deploymentNameOf,
  isGeneratedFor,
  planForDeployment,
  protectorNameOf,
  type WantedProtector,
} from "./deployment-plan.ts";
import type { Config } from "../config/config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { errorLabel, isKubeError, type KubeClient } from "../kube/kube-client.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type CompiledSelector, compileSelector, matches } from "../label-index/index.ts";
import { assert } from "../util/assert.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Rng } from "../util/rng.ts";
import { createWorkQueue, type Outcome, type WorkQueue } from "../work-queue/index.ts";

import { driftPatch } from "./drift.ts";
import { type GeneratorAction, type GeneratorMetrics } from "./metrics.ts";
import { Pacer } from "./pacer.ts";
import { ProtectorLifecycle } from "./protector-lifecycle.ts";
import { removeCells } from "./remove-cells.ts";

/** The settings that the generator needs, under the names that they have in the Config. */
export type GeneratorSettings = Pick<Config["generator"], "deploymentPlugin" | "queue">;

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

type Work = (signal: AbortSignal) => Promise<void>;

export class Generator {
  readonly #config: GeneratorSettings;
  readonly #deps: GeneratorDependencies;
  readonly #lifecycle: ProtectorLifecycle;
  readonly #pacer = new Pacer();
  readonly #protectionSelector: CompiledSelector;
  /** Protectors reported as dangling by this process, so that each is reported once. */
  readonly #dangling = new Set<string>();
  #queue: WorkQueue<string> | undefined;

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
    deps.deployments.subscribe({ onEvent: (event) => this.#queue?.add(`source/${event.object.key}`) });
    deps.protectors.subscribe({ onEvent: (event) => this.#protectorEvent(event) });
  }

  hasSynced(): boolean {
    return this.#deps.deployments.hasSynced() && this.#deps.protectors.hasSynced();
  }

  /** Source objects and PodProtectors in the work queue, those that wait for a moment included; 0 for a standby. */
  get queueSize(): number {
    return this.#queue?.size ?? 0;
  }

  /**
   * The work of the leader, until the signal aborts; resolves when what was begun has ended. Call it when the caches
   * are synced.
   */
  async lead(signal: AbortSignal): Promise<void> {
    const { clock, rng, metrics } = this.#deps;
    const labels = { group: "apps", version: "v1", resource: "deployments", namespace: "" };
    this.#queue = createWorkQueue<string>({
      clock,
      rng,
      ...this.#config.queue,
      process: (key, queueSignal) => this.#process(key, queueSignal),
      observer: {
        onReconcile: (durationMs, outcome) => {
          const error = outcome.kind === "failed" ? errorLabel(outcome.error) : "nil";
          metrics.reconcile.observe({ ...labels, error }, durationMs / 1000);
        },
      },
    });
    for (const deployment of this.#deps.deployments.values()) this.#queue.add(`source/${deployment.key}`);
    for (const stored of this.#deps.protectors.values()) this.#addProtector(stored);
    await this.#queue.run(signal);
    this.#queue = undefined;
  }

  #protectorEvent(event: InformerEvent<StoredProtector>): void {
    if (event.type === "modified") this.#addSourceOf(event.previous);
    if (event.type === "deleted") {
      this.#dangling.delete(event.object.key);
      this.#addSourceOf(event.object);
    } else {
      this.#addProtector(event.object);
    }
  }

  #addProtector(stored: StoredProtector): void {
    this.#addSourceOf(stored);
    if (stored.protector.metadata.annotations?.[annotations.removeCellOnce] !== undefined)
      this.#queue?.add(`cells/${stored.key}`);
  }

  #addSourceOf({ protector }: StoredProtector): void {
    const name = deploymentNameOf(protector);
    if (name !== undefined) this.#queue?.add(`source/${protector.metadata.namespace}/${name}`);
  }

  async #process(key: string, signal: AbortSignal): Promise<Outcome> {
    const work = key.startsWith("cells/")
      ? this.#dueRemoval(key.slice("cells/".length))
      : this.#dueSettlement(key.slice("source/".length));
    if (work === undefined) return { kind: "done" };
    const waitMs = this.#pacer.take(key, this.#deps.clock.monotonicMs());
    if (waitMs > 0) return { kind: "done", requeueAfterMs: waitMs };
    try {
      await work(signal);
      return { kind: "done" };
    } catch (error) {
      if (isKubeError(error, "conflict")) return { kind: "conflict" };
      if (!signal.aborted) this.#deps.logger.error("reconcile error", { key, err: error });
      return { kind: "failed", error };
    }
  }

  /** The cells that a protector wants to be rid of; undefined when the protector has gone. */
  #dueRemoval(key: string): Work | undefined {
    const stored = this.#deps.protectors.get(key);
    return stored === undefined ? undefined : (signal) => removeCells(this.#deps.core, stored, signal);
  }

  /** Undefined when nothing is to be done, as far as the caches know. */
  #dueSettlement(key: string): Work | undefined {
    const [namespace, name] = key.split("/") as [string, string];
    const source = this.#deps.deployments.get(key);
    const stored = this.#deps.protectors.get(`${namespace}/${protectorNameOf(name)}`);
    const existing = stored !== undefined && isGeneratedFor(stored.protector, name) ? stored : undefined;
    if (source !== undefined && existing !== undefined) this.#dangling.delete(existing.key);
    return this.#isSettled(source, existing) ? undefined : (signal) => this.#settle(namespace, name, signal);
  }

  #isSettled(source: DeploymentRecord | undefined, existing: StoredProtector | undefined): boolean {
    const isGone = existing === undefined || isLetGo(existing);
    if (source === undefined) return isGone || (this.#dangling.has(existing.key) && !isReleased(existing));
    const wanted = this.#wantedFor(source);
    const isGuarded = source.finalizers.includes(finalizer);
    if (wanted === undefined) return isGone && !isGuarded;
    // A terminating source accepts no finalizer.
    if (existing === undefined) return source.isTerminating && !isGuarded;
    return (isGuarded || source.isTerminating) && driftPatch(existing.protector, wanted) === undefined;
  }

  /**
   * Brings about what the source wants by its present state. The caches only say where to look: they may lag, each on
   * its own, behind a protector just made, a source created anew, or what another generator has done. The protector is
   * read first: if anybody changes it after the source was read, what is decided here no longer holds for its version.
   */
  async #settle(namespace: string, name: string, signal: AbortSignal): Promise<void> {
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
    return matches(this.#protectionSelector, source.labels) ? planForDeployment(source.facts) : undefined;
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
      `The source Deployment vanished without being deleted. This PodProtector stays in force. Once the workload is really gone, annotate it with ${annotations.released}=true, and it will be deleted.`,
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

/** Only finalizers of others keep it. */
function isLetGo(stored: StoredProtector): boolean {
  const { deletionTimestamp, finalizers = [] } = stored.protector.metadata;
  return isReleased(stored) && deletionTimestamp !== undefined && !finalizers.includes(finalizer);
}

/** A released protector whose source is gone: its end was begun by a generator, or is the wish of a person. */
function isReleased({ protector }: StoredProtector): boolean {
  return protector.metadata.annotations?.[annotations.released] !== undefined;
}
