/** Joins the parts of the webhook over a list of cores. Pure wiring: opens no socket and starts no watch. */
import { type HistoryConfig } from "../accounting/history/history-config.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createRetryBatch } from "../retry-batch/index.ts";
import { type Clock, later } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics } from "../util/metrics.ts";
import { type Rng } from "../util/rng.ts";
import { createWebhookApp, type WebhookApp } from "./http/app.ts";
import { type WorkerClients } from "./decide/cell-clients.ts";
import type { CriterionAnnotation } from "../config/config.ts";
import { createHandler } from "./decide/handler.ts";
import { createJudge, type Deletion } from "./protector/judge.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./metrics.ts";
import { NewestStates } from "./protector/newest-states.ts";
import { LastKnownQuota } from "./outage/last-known-quota.ts";
import { LentRecorder } from "./outage/lent-recorder.ts";
import { createProtectorDirectory, type ProtectorDirectoryOptions } from "./protector/protector-directory.ts";
import { ProtectorEvents } from "./decide/protector-events.ts";
import { type WatchedProtector } from "./protector/protector-view.ts";
import { ReserveAll } from "./decide/reserve-all.ts";
import { type ReservationResult, StatusWriter, writerKey } from "./protector/status-writer.ts";

/** A core cluster: name (without slashes), client, and an informer of all its PodProtectors that does not run yet. */
export interface WebhookCore {
  readonly name: string;
  readonly client: KubeClient;
  readonly informer: Informer<WatchedProtector>;
}

/** What to do while a core takes no writes. */
export interface CoreUnavailable {
  /** Whether to admit by the last known quota in this namespace; else such deletions are refused. */
  readonly lends: (core: string, namespace: string) => boolean;
  /** Whether a replica that hears nothing from a core for minutes turns unready, so that others answer. */
  readonly isUnreadyWhenSilent: boolean;
  /** Webhooks that may lend from one PodProtector at the same time. */
  readonly replicas: number;
}

export interface WebhookOptions {
  readonly cores: readonly WebhookCore[];
  readonly workers: WorkerClients;
  readonly pathPrefix: string;
  /** The cells that are served; empty = all. */
  readonly allowedCells: ReadonlySet<string>;
  readonly dryRun: boolean;
  readonly healthCriteria: readonly CriterionAnnotation[];
  readonly requiresPodName: (cellID: string) => boolean;
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  readonly coldStartDelayMs: number;
  readonly retryBackoffBaseMs: number;
  readonly retryJitterMs: number;
  readonly coreUnavailable: CoreUnavailable;
  /** For Events on PodProtectors, by core; a core without one gets none. */
  readonly events: ReadonlyMap<string, EventRecorder>;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Webhook extends WebhookApp {
  /** By name of the core: why its PodProtectors cannot be relied on; undefined = they can. */
  readonly unreadyReasons: ReadonlyMap<string, () => string | undefined>;
  /** Refuses further reservations and resolves when the running ones have ended. */
  drain(): Promise<void>;
}

/**
 * A status write with 500 more buckets grows by 60 kB and takes etcd a few milliseconds more; beyond that, two writes
 * are no slower.
 */
const batchSizeMax = 500;
/** At 500 a batch and some 100 ms a write this is 2 s of waiting; who would wait longer is better told at once. */
const queuedPerKeyMax = 10_000;
/** PodProtectors with deletions under way at once; a fleet has about as many workloads in all. */
const keysMax = 100_000;

/** As long as a review by default. */
const recordTimeoutMs = 10_000;

export function createWebhook(options: WebhookOptions): Webhook {
  const { clock, rng, logger, history, requiresPodName } = options;
  const metrics = createWebhookMetrics(options.metrics);
  const events = new ProtectorEvents(options.events);
  const cores = createCores(options, metrics, events, (key, { resourceVersion, content }) => {
    const cells = content.ok ? (content.stored.protector.status?.cells ?? []) : [];
    if (writer.watched(key, resourceVersion, cells)) batch.hasten(key);
  });
  const judge = createJudge({ clock, history, requiresPodName });
  const lastKnown = new LastKnownQuota(judge, options.coreUnavailable.replicas);
  const writer = new StatusWriter({
    cores,
    judge,
    clock,
    rng,
    logger,
    backoffBaseMs: options.retryBackoffBaseMs,
    jitterMs: options.retryJitterMs,
    onWrite: (result) => metrics.statusWrite(result),
    onPruned: (core) => metrics.pruned(core),
    lastKnown,
    lends: options.coreUnavailable.lends,
    onLent(core, key) {
      metrics.lent(core);
      recorder.lent(key);
    },
  });
  const batch = createRetryBatch<Deletion, ReservationResult>({
    clock,
    execute: (key, deletions) => writer.execute(key, deletions),
    nextBatchDelayMs: (key) => writer.nextBatchDelayMs(key),
    coldStartDelayMs: options.coldStartDelayMs,
    batchSizeMax,
    queuedPerKeyMax,
    keysMax,
    observer: metrics.retryBatch,
  });
  const recorder = new LentRecorder({
    clock,
    rng,
    isOpen: (key) => lastKnown.lentOf(key).length > 0,
    async record(key) {
      const [deletion] = lastKnown.lentOf(key);
      // Its batch records all that was lent.
      const deadlineMonotonicMs = later(clock.monotonicMs(), recordTimeoutMs);
      if (deletion !== undefined) await batch.submit(key, deletion, { deadlineMonotonicMs });
    },
  });
  const reserveAll = new ReserveAll({ judge, batch, trouble: (core) => writer.trouble(core), clock, metrics });
  const handler = createHandler({ ...options, cores, reserveAll, events, metrics });
  return {
    ...createWebhookApp({ ...options, handler, metrics }),
    unreadyReasons: new Map(cores.map(({ name, directory }) => [name, () => directory.unreadyReason()])),
    drain() {
      recorder.stop();
      return batch.drain();
    },
  };
}

/** What is known of each core's PodProtectors, from now on fed by its informer. */
function createCores(
  { logger, coreUnavailable, cores }: WebhookOptions,
  metrics: WebhookMetrics,
  events: ProtectorEvents,
  onWatched: (key: string, object: WatchedProtector) => void,
) {
  const { isUnreadyWhenSilent } = coreUnavailable;
  return cores.map(({ name, client, informer }) => {
    const states = new NewestStates();
    const onUnusable: ProtectorDirectoryOptions["onUnusable"] = (object, reason) => {
      metrics.unusableProtector(writerKey(name, object.key), reason !== undefined);
      if (reason !== undefined) events.unusable(name, object, reason);
    };
    const directory = createProtectorDirectory({
      core: name,
      informer,
      states,
      logger,
      isUnreadyWhenSilent,
      onWatched: (object) => onWatched(writerKey(name, object.key), object),
      onUnusable,
    });
    return { name, client, states, directory };
  });
}
