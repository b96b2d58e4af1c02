/** An Aggregator between two clients of the API double, with its informers and, if asked for, an update-trigger. */
import { type PodRecord } from "../../../src/api/pod.ts";
import {
  Aggregator,
  type AggregatorSettings,
  Coverage,
  createAggregatorMetrics,
  createPodDecoder,
} from "../../../src/aggregator/index.ts";
import { createSyncTime } from "../../../src/accounting/settle/sync-time.ts";
import { type Informer, type Stored } from "../../../src/kube/informer.ts";
import { podProtectors, pods, readProtector, type StoredProtector } from "../../../src/kube/resources.ts";
import { createInformer, listBarrier } from "../../../src/kube/watch/index.ts";
import { UpdateTrigger } from "../../../src/update-trigger/update-trigger.ts";
import { type Clock } from "../../../src/util/clock.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { type EngineClient } from "../../support/engine-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { type VirtualClock } from "../../support/virtual-clock.ts";
import { type CountingMetrics, createCountingMetrics } from "../kube/counting-metrics.ts";
import { createRecordingLogger, type LogEntry } from "../observability/recording-logger.ts";

export const cellID = "cell-1";

export const defaultConfig: AggregatorSettings = {
  cellID,
  syncTime: createSyncTime({ kind: "observed" }),
  history: { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 },
  settlementFenceDelayMs: 10_000,
  settleWindowMs: 75_000,
  podProtectorLabelSelector: {},
  hasBeenUp: true,
  rateJitterLow: 0.5,
  rateJitterHigh: 1,
  queue: { concurrency: 10, backoffBaseMs: 100, backoffMaxMs: 60_000, backoffConflictMs: 100 },
};

export interface Running {
  readonly aggregator: Aggregator;
  readonly coverage: Coverage;
  readonly core: EngineClient;
  readonly worker: EngineClient;
  readonly metrics: CountingMetrics;
  readonly logs: readonly LogEntry[];
  readonly podInformer: Informer<PodRecord>;
  readonly protectorInformer: Informer<StoredProtector>;
  /** Timers set so far through the aggregator's clock. */
  readonly timersSet: () => number;
  /** Begins to lead; resolved once `depose` or `stop` has taken effect. */
  readonly lead: () => void;
  readonly depose: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface StartOptions {
  readonly config?: Partial<AggregatorSettings>;
  /** Whether the update-trigger runs. */
  readonly trigger?: boolean;
  readonly lead?: boolean;
  readonly seed?: number;
}

export function runAggregator(
  virtual: VirtualClock,
  core: EngineClient,
  worker: EngineClient,
  config: AggregatorSettings,
  options: StartOptions,
): Running {
  let timers = 0;
  const clock: Clock = {
    monotonicMs: () => virtual.monotonicMs(),
    epochMicros: () => virtual.epochMicros(),
    setTimer(delayMs, callback) {
      timers += 1;
      return virtual.setTimer(delayMs, callback);
    },
  };
  const logger = createRecordingLogger();
  const rng = createSeededRng(options.seed ?? 7);
  const metrics = createCountingMetrics();
  const shared = { clock: virtual, rng: createSeededRng(3), logger, metrics: silentMetrics };
  const protectors = createInformer<StoredProtector>({
    ...shared,
    client: core,
    resource: podProtectors,
    name: "podprotectors",
    decode(raw) {
      const read = readProtector(raw);
      return read.ok ? read.stored : undefined;
    },
  });
  const aggregatorMetrics = createAggregatorMetrics(metrics);
  const podInformer = createInformer<PodRecord>({
    ...shared,
    client: worker,
    resource: pods,
    name: "pods",
    decode: createPodDecoder({ kind: "observed" }, config.syncTime, aggregatorMetrics),
  });
  const trigger =
    options.trigger === true
      ? new UpdateTrigger(
          {
            updateFrequencyMs: 30_000,
            dummyPod: {
              name: "dummy",
              namespace: "default",
              labels: {},
              annotations: {},
              image: "none",
              scheduler: "none",
            },
          },
          { worker, clock, logger, metrics },
        )
      : undefined;
  const coverage = new Coverage({
    pods: podInformer,
    excludedNamespaces: new Set(),
    dummyPod: { namespace: "default", name: "dummy" },
  });
  const aggregator = new Aggregator(config, {
    core,
    worker,
    protectors,
    pods: podInformer,
    coverage,
    listBarrier: (signal) => listBarrier(worker, pods, undefined, { signal }),
    touch: () => trigger?.touch(),
    clock,
    rng,
    logger,
    metrics: aggregatorMetrics,
  });
  coverage.watch();
  const life = new AbortController();
  let leadership = new AbortController();
  let leading: Promise<unknown> = Promise.resolve();
  const work = runInformers(aggregator, protectors, podInformer, life.signal);
  return {
    aggregator,
    coverage,
    core,
    worker,
    metrics,
    logs: logger.entries,
    podInformer,
    protectorInformer: protectors,
    timersSet: () => timers,
    lead() {
      leadership = new AbortController();
      leading = Promise.all([aggregator.lead(leadership.signal), trigger?.run(leadership.signal)]);
    },
    async depose() {
      leadership.abort();
      await leading;
    },
    async stop() {
      leadership.abort();
      life.abort();
      await Promise.all([leading, work]);
    },
  };
}

async function runInformers<T extends Stored, U extends Stored>(
  aggregator: Aggregator,
  protectors: Informer<T>,
  podInformer: Informer<U>,
  signal: AbortSignal,
): Promise<void> {
  const synced = new Promise<void>((resolve) => {
    protectors.subscribe({ onEvent() {}, onListed: () => resolve() });
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const watching = protectors.run(signal);
  await synced;
  aggregator.podsStarting();
  await Promise.all([watching, podInformer.run(signal)]);
}
