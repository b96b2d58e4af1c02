/**
 * Puts the aggregator of one cell together: caches, leader election, the update-trigger that runs under the same lease.
 */
import { type PodRecord } from "../api/pod.ts";
import {
  Aggregator,
  type AggregatorMetrics,
  createAggregatorMetrics,
  createPodDecoder,
  type ProtectorWatch,
} from "../aggregator/index.ts";
import { oldestAges } from "../accounting/history/oldest-open.ts";
import { createSyncTime, type SyncTime, type SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import { type Informer, type Decode } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { runElected } from "../kube/leader-election/index.ts";
import { patchOrUpdate } from "../kube/patch-or-update.ts";
import { createInformer, listBarrier } from "../kube/watch/index.ts";
import { pods, type StoredProtector } from "../kube/resources.ts";
import { type Config } from "../config/config.ts";
import { compileSelector, formatSelector, matches } from "../label-index/index.ts";
import { type Component } from "../lifecycle/component.ts";
import { type Logger } from "../util/logger.ts";
import { UpdateTrigger } from "../update-trigger/update-trigger.ts";
import { type Clock, type MonotonicMs, sleep } from "../util/clock.ts";
import { createBackground } from "./background.ts";
import { createCellAlarms } from "./cell-alarms.ts";
import { warnOfCellNames } from "./cell-warnings.ts";
import { createElector } from "./elector.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createProtectorInformer, syncCheck, whenSynced } from "./informers.ts";
import { type Runtime } from "./runtime.ts";

export async function createAggregator(runtime: Runtime): Promise<Component[]> {
  const { clock, rng, metrics, health } = runtime;
  const config = runtime.config.aggregator;
  const logger = runtime.logger.with({ role: "aggregator", cell: config.cellID });
  warnOfCellNames([config.cellID], logger);
  const core = await runtime.clients.core();
  // Upstream's account may update Leases of its own cluster, but not patch them.
  const coreHeartbeat = patchOrUpdate(await runtime.clients.coreHeartbeat(), { clock, logger, metrics });
  const worker = await runtime.clients.worker();
  const { namespace } = runtime.config.worker;

  const protectors = createProtectorInformer(runtime, core, logger);
  const syncTime = chooseSyncTime(config.syncTimeAlgorithm, logger);
  const aggregatorMetrics = createAggregatorMetrics(metrics);
  const decode = createPodDecoder(config.syncTimeAlgorithm, syncTime, aggregatorMetrics);
  const podInformer = createPodInformer(runtime, worker, namespace, decode, logger);
  warnOfUnseenTouches(runtime.config, logger);
  const trigger = createTrigger(runtime, worker, logger, (sentAtMs) => {
    aggregator.touched(sentAtMs);
    heartbeat.touched(sentAtMs);
  });
  const aggregator = new Aggregator(
    { ...config, ...runtime.limits?.fences, history: runtime.config.history, syncTime },
    {
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
    },
  );
  metrics.onScrape(() => measure(aggregatorMetrics, aggregator, podInformer, clock));
  health.register("aggregator-worker/ppr-informer-synced", syncCheck("PodProtectors", protectors));
  health.register("aggregator-worker/pod-informer-0-synced", syncCheck("pods", podInformer));

  const elector = createElector(runtime, {
    role: "aggregator",
    config: config.elector,
    clusterClass: "worker",
    client: worker,
    logger,
  });
  const { identity } = elector;
  const leaseUID = (): string | undefined => heartbeat.leaseUID;
  const alarms = createCellAlarms(runtime, { worker, core: coreHeartbeat, pods: podInformer, leaseUID, logger });
  const beating = { client: coreHeartbeat, worker, aggregator, protectors, identity, alarms, logger };
  const { heartbeat, protectorWatch, tenure } = createHeartbeat(runtime, beating);
  health.register("aggregator-worker/cell-claim", () => tenure.problem());
  const lead = (leadership: AbortSignal): Promise<void> =>
    tenure.run(leadership, async (term, takesOver) => {
      protectorWatch.start(term);
      await Promise.all([aggregator.lead(term, takesOver), trigger?.run(term), heartbeat.run(term), alarms.run(term)]);
    });
  return [
    createBackground("aggregator-worker", (signal) =>
      runCaches({ protectors, protectorWatch, podInformer, aggregator, clock }, signal, () =>
        runElected(elector, signal, lead),
      ),
    ),
  ];
}

/** Sets the gauges that are computed for each scrape. */
function measure(to: AggregatorMetrics, aggregator: Aggregator, pods: Informer<PodRecord>, clock: Clock): void {
  to.setSizes(aggregator.sizes());
  to.setOldestOpen(oldestAges(aggregator.histories(), clock.epochMicros()));
  if (pods.hasSynced()) to.snapshotAge.set({}, pods.stalenessMs() / 1000);
}

interface Caches {
  readonly protectors: Informer<StoredProtector>;
  readonly protectorWatch: ProtectorWatch;
  readonly podInformer: Informer<PodRecord>;
  readonly aggregator: Aggregator;
  readonly clock: Clock;
}

/** Fills the caches, and does the work when they are synced. */
async function runCaches(caches: Caches, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  const { protectors, protectorWatch, podInformer, aggregator, clock } = caches;
  const protectorsSynced = whenSynced(protectors, signal);
  const podsSynced = whenSynced(podInformer, signal);
  protectorWatch.starting();
  const watchingProtectors = protectors.run(signal);
  // Pods are listed after PodProtectors: the first list of pods is then a barrier for everything that was seen of the
  // PodProtectors.
  await protectorsSynced;
  // One millisecond makes "sent after" true on a clock that does not advance between two calls.
  await sleep(clock, 1, signal);
  aggregator.podsStarting();
  const watchingPods = podInformer.run(signal);
  await podsSynced;
  if (!signal.aborted) await work();
  await Promise.all([watchingProtectors, watchingPods]);
}

/** Undefined when another process runs it, or nobody. */
function createTrigger(
  { clock, metrics, config }: Runtime,
  worker: KubeClient,
  logger: Logger,
  onTouched: (sentAtMs: MonotonicMs) => void,
): UpdateTrigger | undefined {
  if (config.updateTrigger.runBy !== "aggregator") return undefined;
  return new UpdateTrigger(config.updateTrigger, { worker, clock, logger, metrics, onTouched });
}

function chooseSyncTime(algorithm: SyncTimeAlgorithm, logger: Logger): SyncTime {
  if (algorithm.kind !== "observed") {
    logger.warn("This sync-time algorithm may admit deletions below minAvailable when the watch lags; use observed", {
      algorithm: algorithm.kind,
    });
  }
  return createSyncTime(algorithm);
}

/** Touches of a pod that the cell's watch does not show move nothing. */
function warnOfUnseenTouches({ aggregator, updateTrigger }: Config, logger: Logger): void {
  const cell = compileSelector(aggregator.podLabelSelector);
  const { labels } = updateTrigger.dummyPod;
  if (updateTrigger.runBy !== "aggregator" || !cell.ok || matches(cell.selector, labels)) return;
  logger.warn(
    "--aggregator-pod-label-selector does not select the update-trigger pod, so touches do not move this cell's " +
      "watch. Set --update-trigger-dummy-pod-labels, and a --update-trigger-dummy-pod-name of its own for each cell",
    { selector: formatSelector(cell.selector), labels },
  );
}

function createPodInformer(
  runtime: Runtime,
  worker: KubeClient,
  namespace: string | undefined,
  decode: Decode<PodRecord>,
  logger: Logger,
): Informer<PodRecord> {
  const { clock, rng, metrics } = runtime;
  const { podLabelSelector, syncTimeAlgorithm } = runtime.config.aggregator;
  return createInformer<PodRecord>({
    client: worker,
    resource: pods,
    namespace,
    ...selectorQuery(podLabelSelector),
    // The protobuf decoder skips annotations that it does not know.
    preferProtobuf: syncTimeAlgorithm.kind !== "annotation",
    decode,
    clock,
    rng,
    logger,
    metrics,
    name: "pods",
  });
}

/** The selector as the API server's query parameter; absent = no restriction. */
function selectorQuery(selector: Parameters<typeof compileSelector>[0]): { labelSelector?: string } {
  const compiled = compileSelector(selector);
  const text = compiled.ok ? formatSelector(compiled.selector) : "";
  return text === "" ? {} : { labelSelector: text };
}
