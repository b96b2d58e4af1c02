/**
 * Puts the aggregator of one cell together: the cache of its pods, leader election, the update-trigger that runs under
 * the same Lease, and what it counts into each core (core-counting.ts).
 *
 * One Lease for all cores: it is in the worker cluster, so a core that is away costs no leader; pods are watched,
 * touched and probed once; and there is one process that fences. What depends on a core (whose the cell is there,
 * counts, heartbeats) has a term of its own below that Lease.
 */
import { type PodRecord } from "../api/pod.ts";
import { Coverage, CoverageReport, createAggregatorMetrics, createPodDecoder } from "../aggregator/index.ts";
import { createSyncTime, type SyncTime, type SyncTimeAlgorithm } from "../accounting/settle/sync-time.ts";
import { type Informer, type Decode } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { runElected } from "../kube/leader-election/index.ts";
import { patchOrUpdate } from "../kube/patch-or-update.ts";
import { createInformer } from "../kube/watch/index.ts";
import { pods as podResource } from "../kube/resources.ts";
import { type Config } from "../config/config.ts";
import { compileSelector, formatSelector, matches } from "../label-index/index.ts";
import { type Component, createBackground } from "../lifecycle/component.ts";
import { linkedAbort } from "../util/linked-abort.ts";
import { type Logger } from "../util/logger.ts";
import { UpdateTrigger } from "../update-trigger/update-trigger.ts";
import { type Clock, type MonotonicMs, sleep } from "../util/clock.ts";
import { createCellAlarms } from "./cells/cell-alarms.ts";
import { warnOfCellNames } from "./cells/cell-warnings.ts";
import { CoreCounting } from "./cells/core-counting.ts";
import { type ConnectedCore, connectCores, coreMetrics, type Runtime } from "./runtime.ts";
import { createElector, SharedWork } from "./leadership.ts";
import { syncCheck, whenSynced } from "./informers.ts";

/**
 * For how long candidates wait for cores whose PodProtectors are not listed yet, after the first one: a replica that
 * reaches all cores should lead, and not one that does not. A core that is away costs the others this once, when a
 * process starts; lists of a core that works take a few seconds.
 */
const coresWaitMs = 10_000;

/** With one core. Upstream's update-trigger is a part of its aggregator, also while it is off. */
const named = {
  name: "aggregator-worker",
  upstreamNames: ["aggregator", "aggregator-leader-elector", "podprotector-indexed-informer-", "update-trigger"],
};

export async function createAggregator(runtime: Runtime): Promise<Component[]> {
  const { clock, health } = runtime;
  const config = runtime.config.aggregator;
  const logger = runtime.logger.with({ role: "aggregator", cell: config.cellID });
  warnOfCellNames([config.cellID], logger);
  const cores = await connectCores(runtime);
  const heartbeatClients = await connectHeartbeats(runtime, cores, logger);
  const worker = await runtime.clients.worker();

  const syncTime = chooseSyncTime(config.syncTimeAlgorithm, logger);
  // Pods are read once for all cores: what is wrong with one is no matter of a core.
  const podMetrics = createAggregatorMetrics(coreMetrics(runtime, ""));
  const decode = createPodDecoder(config.syncTimeAlgorithm, syncTime, podMetrics);
  const pods = createPodInformer(runtime, worker, decode, logger);
  warnOfUnseenTouches(runtime.config, logger);
  const trigger = createTrigger(runtime, worker, logger, (sentAtMs) => {
    for (const counting of countings) counting.touched(sentAtMs);
  });
  health.register("aggregator-worker/pod-informer-0-synced", syncCheck("pods", pods));

  const elector = createElector(runtime, {
    role: "aggregator",
    config: config.elector,
    clusterClass: "worker",
    client: await runtime.clients.workerElection(),
    logger,
  });
  const alarms = createCellAlarms(runtime, {
    worker,
    cores: heartbeatClients.map((core, index) => ({ ...core, leaseUID: () => countings[index]?.leaseUID })),
    pods,
    floors: () => countings.values().flatMap((counting) => counting.namespacesWithFloors()),
    logger,
  });
  const coverage = new Coverage({
    pods,
    excludedNamespaces: config.coverageExcludedNamespaces,
    dummyPod: runtime.config.updateTrigger.dummyPod,
  });
  const report = createReport(runtime, { coverage, pods, countings: () => countings, logger });
  const shared = new SharedWork(async (signal) => {
    await Promise.all([trigger?.run(signal), alarms.run(signal), report.run(signal)]);
  });
  const countings: readonly CoreCounting[] = heartbeatClients.map(
    ({ core, client: heartbeatClient }) =>
      new CoreCounting(runtime, {
        core,
        heartbeatClient,
        worker,
        pods,
        coverage,
        syncTime,
        touch: () => trigger?.touch(),
        identity: elector.identity,
        alarms,
        shared,
        logger,
      }),
  );
  coverage.watch();
  return [
    createBackground(named, (signal) =>
      runCaches(countings, pods, clock, signal, () =>
        runElected(elector, signal, async (leadership) => {
          await Promise.all(countings.map((counting) => counting.lead(leadership)));
        }),
      ),
    ),
  ];
}

/** The clients for heartbeats, in the order of the cores. */
function connectHeartbeats(runtime: Runtime, cores: readonly ConnectedCore[], logger: Logger) {
  const { clients, clock, metrics } = runtime;
  return Promise.all(
    cores.map(async (core) => {
      // Upstream's account may update Leases of its own cluster, but not patch them.
      const client = patchOrUpdate(await clients.coreHeartbeat(core.name), { clock, logger, metrics });
      return { name: core.name, core, client };
    }),
  );
}

/** Fills the caches, and does the work when those of the pods and of a core are filled. */
async function runCaches(
  countings: readonly CoreCounting[],
  pods: Informer<PodRecord>,
  clock: Clock,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const podsSynced = whenSynced(pods, signal);
  const watchingProtectors = countings.map((counting) => counting.watch(signal));
  const synced = countings.map((counting) => counting.synced);
  // Pods are listed after PodProtectors: the first list of pods is then a barrier for everything that was seen of the
  // PodProtectors. Of a core that answers later, what is seen later needs a later barrier.
  await Promise.race(synced);
  // One millisecond makes "sent after" true on a clock that does not advance between two calls.
  await sleep(clock, 1, signal);
  for (const counting of countings) counting.podsStarting();
  const watchingPods = pods.run(signal);
  await podsSynced;
  await allOrLate(synced, clock, signal);
  if (!signal.aborted) await work();
  await Promise.all([...watchingProtectors, watchingPods]);
}

/** Resolves when all have, or after `coresWaitMs`. */
async function allOrLate(synced: readonly Promise<void>[], clock: Clock, signal: AbortSignal): Promise<void> {
  using waiting = linkedAbort(signal);
  await Promise.race([Promise.all(synced), sleep(clock, coresWaitMs, waiting.signal)]);
  waiting.abort();
}

interface ReportParts {
  readonly coverage: Coverage;
  readonly pods: Informer<PodRecord>;
  readonly countings: () => readonly CoreCounting[];
  readonly logger: Logger;
}

function createReport({ clock, metrics }: Runtime, { countings, ...parts }: ReportParts): CoverageReport {
  return new CoverageReport({
    ...parts,
    clock,
    metrics,
    isKnown: () => parts.pods.hasSynced() && countings().every((counting) => counting.hasSynced),
    unmatched: () =>
      countings()
        .values()
        .flatMap((counting) => counting.unmatched()),
  });
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
  decode: Decode<PodRecord>,
  logger: Logger,
): Informer<PodRecord> {
  const { clock, rng, metrics } = runtime;
  const { podLabelSelector, syncTimeAlgorithm } = runtime.config.aggregator;
  const { namespace } = runtime.config.worker;
  return createInformer<PodRecord>({
    client: worker,
    resource: podResource,
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
