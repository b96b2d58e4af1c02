/** Puts the aggregator of one cell together: caches, leader election, the update-trigger that runs under the same lease. */
import { type PodRecord, readPod } from "../api/pod.ts";
import { Aggregator, createAggregatorMetrics, createLabelInterner } from "../aggregator/index.ts";
import { createIdentity, createInformer, Elector, listBarrier, runElected } from "../kube/index.ts";
import { pods } from "../kube/resources.ts";
import { compileSelector, formatSelector } from "../label-index/index.ts";
import { type Component } from "../lifecycle/component.ts";
import { UpdateTrigger } from "../update-trigger/update-trigger.ts";
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
  const intern = createLabelInterner();
  const podInformer = createInformer<PodRecord>({
    client: worker,
    resource: pods,
    namespace,
    ...selectorQuery(config.podSelector),
    decode: (raw) => readPod(raw, intern),
    clock,
    rng,
    logger,
    metrics,
    name: "pods",
  });
  const trigger =
    runtime.config.updateTrigger.runBy === "aggregator"
      ? new UpdateTrigger(updateTriggerConfigOf(runtime.config.updateTrigger), { worker, clock, logger, metrics })
      : undefined;
  const aggregatorMetrics = createAggregatorMetrics(metrics);
  const aggregator = new Aggregator(
    {
      cellID: config.cellId,
      history: runtime.config.history,
      fenceDelayMs: config.settlementFenceDelayMs,
      settleWindowMs: config.settleWindowMs,
      protectorSelector: config.podProtectorSelector,
      rateJitterLow: config.rateJitterLow,
      rateJitterHigh: config.rateJitterHigh,
      workerConcurrency: config.worker.concurrency,
      workerBackoffBaseMs: config.worker.backoffBaseMs,
      workerBackoffMaxMs: config.worker.backoffMaxMs,
      workerBackoffConflictMs: config.worker.backoffConflictMs,
    },
    {
      core,
      worker,
      protectors,
      pods: podInformer,
      listBarrier: (signal) => listBarrier(worker, pods, namespace, signal),
      touch: () => trigger?.touch(),
      clock,
      rng,
      logger,
      metrics: aggregatorMetrics,
    },
  );
  metrics.onScrape(() => {
    aggregatorMetrics.poolSize.set({ shard: "0" }, aggregator.nextEventPoolSize);
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
  return [
    createBackground("aggregator", async (signal) => {
      const protectorsSynced = whenSynced(protectors, signal);
      const podsSynced = whenSynced(podInformer, signal);
      const watchingProtectors = protectors.run(signal);
      // Pods are listed after PodProtectors, so that the first list of pods is a barrier for all that was seen of these.
      await protectorsSynced;
      aggregator.podsStarting();
      const watchingPods = podInformer.run(signal);
      await podsSynced;
      if (!signal.aborted) {
        await runElected(elector, signal, async (leadership) => {
          await Promise.all([aggregator.lead(leadership), trigger?.run(leadership)]);
        });
      }
      await Promise.all([watchingProtectors, watchingPods]);
    }),
  ];
}

/** The API server's own syntax; empty = no restriction. */
function selectorQuery(selector: Parameters<typeof compileSelector>[0]): { labelSelector?: string } {
  const compiled = compileSelector(selector);
  const text = compiled.ok ? formatSelector(compiled.selector) : "";
  return text === "" ? {} : { labelSelector: text };
}
