/** Joins the parts of the webhook over a list of cores. Pure wiring: opens no socket and starts no watch. */
import { type Hono } from "hono";
import { type HistoryConfig } from "../core/history-config.ts";
import { type Informer } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createRetryBatch } from "../retry-batch/index.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics } from "../util/metrics.ts";
import { type Rng } from "../util/rng.ts";
import { createWebhookApp } from "./app.ts";
import { type WorkerClients } from "./cell-clients.ts";
import { type CriterionAnnotation } from "./criteria.ts";
import { createHandler } from "./handler.ts";
import { createJudge, type Deletion } from "./judge.ts";
import { createWebhookMetrics } from "./metrics.ts";
import { NewestStates } from "./newest-states.ts";
import { createProtectorDirectory } from "./protector-directory.ts";
import { type WatchedProtector } from "./protector-view.ts";
import { ReserveAll } from "./reserve-all.ts";
import { type ReservationResult, StatusWriter } from "./status-writer.ts";

/** A core cluster: name (without slashes), client, and an informer of all its PodProtectors that does not run yet. */
export interface WebhookCore {
  readonly name: string;
  readonly client: KubeClient;
  readonly informer: Informer<WatchedProtector>;
}

export interface WebhookOptions {
  readonly cores: readonly WebhookCore[];
  readonly workers: WorkerClients;
  readonly pathPrefix: string;
  readonly isDryRun: boolean;
  readonly criteria: readonly CriterionAnnotation[];
  readonly recordsPodName: (cellID: string) => boolean;
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  readonly coldStartDelayMs: number;
  readonly retryBackoffBaseMs: number;
  readonly retryJitterMs: number;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface Webhook {
  readonly app: Hono;
  /** By name of the core: why its PodProtectors cannot be relied on; undefined = they can. */
  readonly unreadyReasons: ReadonlyMap<string, () => string | undefined>;
  /** Refuses further reservations and resolves when the running ones have ended. */
  drain(): Promise<void>;
}

/** A status write with 500 more buckets grows by 60 kB and takes etcd a few milliseconds more; beyond that, two writes are no slower. */
const batchSizeMax = 500;
/** At 500 a batch and some 100 ms a write this is 2 s of waiting; who would wait longer is better told at once. */
const queuedPerKeyMax = 10_000;
/** PodProtectors with deletions under way at once; a fleet has about as many workloads in all. */
const keysMax = 100_000;

export function createWebhook(options: WebhookOptions): Webhook {
  const { clock, rng, logger, history, recordsPodName } = options;
  const metrics = createWebhookMetrics(options.metrics);
  const cores = options.cores.map(({ name, client, informer }) => {
    const states = new NewestStates();
    const onUnusable = (): void => metrics.unusableProtector();
    return {
      name,
      client,
      states,
      directory: createProtectorDirectory({ core: name, informer, states, logger, onUnusable }),
    };
  });
  const judge = createJudge({ clock, history, recordsPodName });
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
  const reserveAll = new ReserveAll({ judge, batch, trouble: (core) => writer.trouble(core), clock, metrics });
  const handler = createHandler({ ...options, cores, reserveAll, metrics });
  return {
    app: createWebhookApp({ pathPrefix: options.pathPrefix, handler, clock, logger, metrics }),
    unreadyReasons: new Map(cores.map(({ name, directory }) => [name, () => directory.unreadyReason()])),
    drain: () => batch.drain(),
  };
}
