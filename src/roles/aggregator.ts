/**
 * Puts the aggregator of one cell together: caches, leader election, the update-trigger that runs under the same lease.
 */
import { type PodRecord, readPodRecord } from "../api/pod.ts";
import {
  Aggregator,
  type AggregatorConfig,
  type AggregatorMetrics,
  createAggregatorMetrics,
  createLabelInterner,
} from "../aggregator/index.ts";
import { createSyncTime, type SyncTime, type SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import { type Informer, type Decode } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { createIdentity, Elector, runElected } from "../kube/leader-election/index.ts";
import { createInformer, listBarrier } from "../kube/watch/index.ts";
import { pods } from "../kube/resources.ts";
import { compileSelector, formatSelector } from "../label-index/index.ts";
import { type Component } from "../lifecycle/component.ts";
import { type Logger } from "../util/logger.ts";
import { UpdateTrigger } from "../update-trigger/update-trigger.ts";
import { sleep } from "../util/clock.ts";
import { createBackground } from "./background.ts";
import { createProtectorInformer, syncCheck, whenSynced } from "./informers.ts";
import { type Runtime } from "./runtime.ts";
import { updateTriggerConfigOf } from "./update-trigger.ts";

export async function createAggregator(runtime: Runtime): Promise<Component[]> {
  const { clock, rng, metrics, health } = runtime;
  const config = runtime.config.aggregator;
  const logger = runtime.logger.with({ role: "aggregator", cell: config.cellId });
  const core = await runtime.clients.core();
  const worker = await runtime.clients.worker();
  const namespace = runtime.config.worker.targetNamespace === "" ? undefined : runtime.config.worker.targetNamespace;

  const protectors = createProtectorInformer(runtime, core, logger);
  const syncTime = chooseSyncTime(config.syncTimeAlgorithm, logger);
  const aggregatorMetrics = createAggregatorMetrics(metrics);
  const decode = createPodDecoder(config.syncTimeAlgorithm, syncTime, aggregatorMetrics);
  const podInformer = createPodInformer(runtime, worker, namespace, decode, logger);
  const trigger =
    runtime.config.updateTrigger.runBy === "aggregator"
      ? new UpdateTrigger(updateTriggerConfigOf(runtime.config.updateTrigger), { worker, clock, logger, metrics })
      : undefined;
  const aggregator = new Aggregator(aggregatorConfigOf(runtime.config, syncTime), {
    core,
    worker,
    protectors,
    pods: podInformer,
    listBarrier: (signal) => listBarrier(worker, pods, namespace, { signal }),
    touch: () => trigger?.touch(),
    clock,
    rng,
    logger,
    metrics: aggregatorMetrics,
  });
  metrics.onScrape(() => {
    aggregatorMetrics.sizes(aggregator.sizes());
    if (podInformer.hasSynced()) aggregatorMetrics.snapshotAge.set({}, podInformer.silentMs() / 1000);
  });
  health.register("aggregator-worker/ppr-informer-synced", syncCheck("PodProtectors", protectors));
  health.register("aggregator-worker/pod-informer-0-synced", syncCheck("pods", podInformer));

  const elector = new Elector({
    config: { ...config.elector, enable: config.elector.enabled },
    client: worker,
    identity: createIdentity(rng),
    clusterClass: "worker",
    electorName: "aggregator",
    clock,
    rng,
    logger,
    metrics,
  });
  const lead = async (leadership: AbortSignal): Promise<void> => {
    await Promise.all([aggregator.lead(leadership), trigger?.run(leadership)]);
  };
  return [
    createBackground("aggregator", async (signal) => {
      const protectorsSynced = whenSynced(protectors, signal);
      const podsSynced = whenSynced(podInformer, signal);
      const watchingProtectors = protectors.run(signal);
      // Pods are listed after PodProtectors, so that the first list of pods is a barrier for all that was seen of
      // these.
      await protectorsSynced;
      // A millisecond, so that "sent after" holds on a clock that stands still between two calls.
      await sleep(clock, 1, signal);
      aggregator.podsStarting();
      const watchingPods = podInformer.run(signal);
      await podsSynced;
      if (!signal.aborted) await runElected(elector, signal, lead);
      await Promise.all([watchingProtectors, watchingPods]);
    }),
  ];
}

function aggregatorConfigOf({ aggregator, history }: Runtime["config"], syncTime: SyncTime): AggregatorConfig {
  return {
    cellID: aggregator.cellId,
    syncTime,
    history,
    fenceDelayMs: aggregator.settlementFenceDelayMs,
    settleWindowMs: aggregator.settleWindowMs,
    protectorSelector: aggregator.podProtectorSelector,
    rateJitterLow: aggregator.rateJitterLow,
    rateJitterHigh: aggregator.rateJitterHigh,
    workerConcurrency: aggregator.worker.concurrency,
    workerBackoffBaseMs: aggregator.worker.backoffBaseMs,
    workerBackoffMaxMs: aggregator.worker.backoffMaxMs,
    workerBackoffConflictMs: aggregator.worker.backoffConflictMs,
  };
}

function chooseSyncTime(algorithm: SyncTimeAlgorithm, logger: Logger): SyncTime {
  if (algorithm.kind !== "observed") {
    logger.warn("this sync-time algorithm can break the floor when the watch lags; observed cannot", {
      algorithm: algorithm.kind,
    });
  }
  return createSyncTime(algorithm);
}

/**
 * Pods without the time that a patched API server should have stamped are counted: their deletions would never be
 * forgotten.
 */
function createPodDecoder(
  algorithm: SyncTimeAlgorithm,
  syncTime: SyncTime,
  { indexErrors }: AggregatorMetrics,
): Decode<PodRecord> {
  const intern = createLabelInterner();
  return (raw) => {
    const pod = readPodRecord(raw, intern, syncTime.readEventTime);
    if (algorithm.kind === "annotation" && pod !== undefined && pod.eventTime === undefined)
      indexErrors.inc({ namespace: pod.namespace, error: "EventTime" });
    return pod;
  };
}

function createPodInformer(
  runtime: Runtime,
  worker: KubeClient,
  namespace: string | undefined,
  decode: Decode<PodRecord>,
  logger: Logger,
): Informer<PodRecord> {
  const { clock, rng, metrics } = runtime;
  const { podSelector, syncTimeAlgorithm } = runtime.config.aggregator;
  return createInformer<PodRecord>({
    client: worker,
    resource: pods,
    namespace,
    ...selectorQuery(podSelector),
    // The protobuf decoder passes over annotations that it does not know.
    preferProtobuf: syncTimeAlgorithm.kind !== "annotation",
    decode,
    clock,
    rng,
    logger,
    metrics,
    name: "pods",
  });
}

/** The API server's own syntax; empty = no restriction. */
function selectorQuery(selector: Parameters<typeof compileSelector>[0]): { labelSelector?: string } {
  const compiled = compileSelector(selector);
  const text = compiled.ok ? formatSelector(compiled.selector) : "";
  return text === "" ? {} : { labelSelector: text };
}
