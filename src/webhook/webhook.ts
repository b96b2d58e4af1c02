/** Joins the parts of the webhook over a list of cores. Pure wiring: opens no socket and starts no watch. */
import { type CellLeases } from "../kube/cell-leases/index.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { type HistoryConfig } from "../accounting/history/history-config.ts";
import { type HistoryLimits } from "../accounting/history/record.ts";
import { type CriterionAnnotation } from "../config/config.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics } from "../util/metrics.ts";
import { type Rng } from "../util/rng.ts";
import { DecisionReport } from "./decide/reports/decision-report.ts";
import { DeveloperEvents, type DeveloperRecorders } from "./decide/reports/developer-events.ts";
import { Handler } from "./decide/handler.ts";
import { HeldReviews } from "./decide/held-reviews.ts";
import { LostNodes } from "./decide/lost-nodes.ts";
import { PodCells } from "./decide/subject/pod-cell.ts";
import { PodReads } from "./decide/subject/pod-reads.ts";
import { ProtectorEvents } from "./decide/reports/protector-events.ts";
import { RefusedCallers } from "./decide/reports/refused-callers.ts";
import { SeveralProtectors } from "./decide/several-protectors.ts";
import { type WorkerClients } from "./decide/subject/subject.ts";
import { createWebhookApp, type WebhookApp } from "./http/app.ts";
import { KnownCells } from "./known-cells.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./metrics.ts";
import { Core } from "./protector/core.ts";
import { Protectors } from "./protector/protectors.ts";
import { type WatchedProtector } from "./protector/protector-view.ts";
import { Reservations } from "./protector/reservations.ts";
import { TombstoneReport } from "./tombstone-report.ts";
import { StatusWriter } from "./protector/status-writer.ts";

/** A core cluster: name (without slashes), client, and an informer of all its PodProtectors that does not run yet. */
export interface WebhookCore {
  readonly name: string;
  readonly client: KubeClient;
  /** Tells which cells are late or silent. */
  readonly cells: Pick<CellLeases, "stateOf" | "lateForMs" | "unwrittenForMs" | "isForgotten" | "countedByOther">;
  readonly informer: Informer<WatchedProtector>;
}

/** What to do while a core takes no writes. */
export interface CoreUnavailable {
  /** Whether deletions in this namespace are admitted on the last known quota; else they are refused. */
  readonly isLastKnownAllowed: (core: string, namespace: string) => boolean;
  /**
   * Whether a replica turns unready when the watch of this core has been silent for minutes, and those of all others,
   * so that other replicas answer.
   */
  readonly isUnreadyWhenSilent: (core: string) => boolean;
  /** Webhooks that may admit from one PodProtector at the same time. */
  readonly replicas: number;
}

export interface WebhookOptions {
  readonly cores: readonly WebhookCore[];
  readonly workers: WorkerClients;
  readonly pathPrefix: string;
  /** The cells that are served; empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  /** The cells that a client may speak for, by a name of its certificate; empty = every client for every cell. */
  readonly clientCells: ReadonlyMap<string, ReadonlySet<string>>;
  /** Label of pods that names their cell; undefined = the end of the URL does. */
  readonly cellLabel?: string | undefined;
  /** Of this program, such as "0.1.0 (commit)". */
  readonly productVersion: string;
  readonly dryRun: boolean;
  readonly healthCriteria: readonly CriterionAnnotation[];
  readonly requiresPodName: (cellID: string) => boolean;
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  /** Default: those of production. */
  readonly historyLimits?: HistoryLimits | undefined;
  /** How long an own admission is held that a Go aggregator drops from the history; 0 = not at all. */
  readonly legacyCellHoldMs: number;
  /** For how long a review is held at most instead of being refused; 0 = not at all. */
  readonly refusalHoldMs: number;
  /** For how long pods whose Node object is gone are kept from pod garbage collection; 0 = not at all. */
  readonly orphanedPodGraceMs: number;
  /** For how long a PodProtector that is gone and not let go stays in force; 0 = for ever. */
  readonly tombstoneTtlMs: number;
  /** Of the generator's ConfigMap, in each core. */
  readonly stateNamespace: string;
  readonly coldStartDelayMs: number;
  readonly retryBackoffBaseMs: number;
  readonly retryJitterMs: number;
  readonly coreUnavailable: CoreUnavailable;
  /** For Events on PodProtectors, by core; a core without one gets none. */
  readonly events: ReadonlyMap<string, EventRecorder>;
  /** For Events where developers look, by core; a core without them gets none. */
  readonly developerEvents: ReadonlyMap<string, DeveloperRecorders>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Webhook extends WebhookApp {
  /** By name of the core: why its PodProtectors cannot be relied on; undefined = they can. */
  readonly unreadyReasons: ReadonlyMap<string, () => string | undefined>;
  /** Holds no review any more, refuses further reservations and resolves when the running ones have ended. */
  drain(): Promise<void>;
}

export function createWebhook(options: WebhookOptions): Webhook {
  const knownCells = new KnownCells(options.allowedCells);
  const metrics = createWebhookMetrics(options.metrics, knownCells);
  const events = new ProtectorEvents({
    recorders: options.events,
    callers: new RefusedCallers(options.clock),
    developers: new DeveloperEvents(options.developerEvents),
    metrics,
  });
  const reservations = createReservations(options, metrics);
  const sources = options.cores.map((core) =>
    createSource(core, options, { reservations, metrics, events, knownCells }),
  );
  const cores = sources.map(({ core }) => core);
  const severalProtectors = new SeveralProtectors({ ...options, reservations, metrics });
  const heldReviews = new HeldReviews({ ...options, metrics });
  const lostNodes = new LostNodes({ ...options, replicas: options.coreUnavailable.replicas });
  const report = new DecisionReport({ ...options, metrics });
  const cells = new PodCells(options.cellLabel, options.allowedCells);
  const handler = new Handler({
    ...options,
    // With a label the URL names no cell, and the label has to be an allowed one.
    isKnownCell: (cellID) => options.cellLabel !== undefined || knownCells.isEmpty || knownCells.has(cellID),
    podReads: new PodReads(options.clock),
    sources,
    severalProtectors,
    heldReviews,
    events,
    report,
    lostNodes,
    cells,
    metrics,
  });
  return {
    ...createWebhookApp({ ...options, handler, cells, metrics }),
    unreadyReasons: new Map(cores.map((core) => [core.name, () => core.unreadyReason(othersOf(core, cores))])),
    async drain() {
      heldReviews.close();
      for (const source of sources) source.close();
      await reservations.drain();
      report.close();
    },
  };
}

function othersOf(core: Core, cores: readonly Core[]): readonly Core[] {
  return cores.filter((other) => other !== core);
}

function createReservations(options: WebhookOptions, metrics: WebhookMetrics): Reservations {
  const writer = new StatusWriter({
    ...options,
    backoffBaseMs: options.retryBackoffBaseMs,
    jitterMs: options.retryJitterMs,
    onWrite: (result) => metrics.statusWrite(result),
    onPruned: (core) => metrics.pruned(core),
    isLastKnownAllowed: options.coreUnavailable.isLastKnownAllowed,
    onLastKnownAdmission: (core) => metrics.lastKnownAdmission(core),
  });
  return new Reservations({ ...options, writer, observer: metrics.retryBatch, onUnclaimed: () => metrics.unclaimed() });
}

/** The PodProtectors of one core, from now on kept by its informer. */
function createSource(
  core: WebhookCore,
  options: WebhookOptions,
  shared: {
    readonly reservations: Reservations;
    readonly metrics: WebhookMetrics;
    readonly events: ProtectorEvents;
    readonly knownCells: KnownCells;
  },
): Protectors {
  const { reservations, metrics, events, knownCells } = shared;
  const { coreUnavailable, clock, logger, stateNamespace } = options;
  const report = new TombstoneReport({ core: core.name, logger, metrics, events });
  const { onRaised, onGone, onUnread, onDefinitionLoss } = report;
  const { replicas } = coreUnavailable;
  const isUnreadyWhenSilent = coreUnavailable.isUnreadyWhenSilent(core.name);
  const protectors = new Protectors({
    core: new Core({ ...core, replicas, isUnreadyWhenSilent, clock, logger, rule: options, onDefinitionLoss }),
    logger,
    tombstones: { stateNamespace, ttlMs: options.tombstoneTtlMs, onRaised, onGone, onUnread },
    onCounted: (cellID) => knownCells.counted(cellID),
    onSooner: (protector) => reservations.startSooner(protector),
    onUnusable(protector, reason) {
      metrics.unusableProtector(protector.id, reason !== undefined);
      if (reason !== undefined) events.unusable(protector, reason);
    },
  });
  metrics.readProtectors(core.name, () => protectors.size);
  metrics.readTombstones(core.name, () => protectors.tombstones);
  return protectors;
}
