/** The heartbeat of a cell in one core, and the watch of PodProtectors that it vouches for. */
import {
  type Aggregator,
  CellLeaseWriter,
  createHeartbeatMetrics,
  Heartbeat,
  ProtectorWatch,
} from "../aggregator/index.ts";
import { silenceTimes } from "../accounting/silence/silence-times.ts";
import { type Informer } from "../kube/informer.ts";
import { type KubeClient } from "../kube/kube-client.ts";
import { podProtectors, type StoredProtector } from "../kube/resources.ts";
import { listBarrier } from "../kube/watch/index.ts";
import { type Logger } from "../util/logger.ts";
import { type Runtime } from "./runtime.ts";

/** A beat is of no use when the next one is overdue. */
const beatsPerTimeout = 2;

export interface HeartbeatParts {
  /** The core's client for heartbeats. */
  readonly client: KubeClient;
  readonly aggregator: Aggregator;
  readonly protectors: Informer<StoredProtector>;
  /** Of the leader election. */
  readonly identity: string;
  readonly logger: Logger;
}

/** Call before the informer of PodProtectors runs. */
export function createHeartbeat(
  runtime: Runtime,
  parts: HeartbeatParts,
): { readonly heartbeat: Heartbeat; readonly protectorWatch: ProtectorWatch } {
  const { config, clock, rng, productVersion } = runtime;
  const { client, aggregator, protectors, identity, logger } = parts;
  const { leaseNamespace, silentAfterMs } = config.cells;
  const times = silenceTimes(silentAfterMs);
  const metrics = createHeartbeatMetrics(runtime.metrics);
  const core = "core";
  const protectorWatch = new ProtectorWatch({
    protectors,
    listBarrier: (signal) => listBarrier(client, podProtectors, config.core.namespace, { signal }),
    clock,
    logger,
    historyResets: metrics.coreResets,
  });
  const heartbeat = new Heartbeat({
    core,
    times,
    pods: aggregator.podWatch,
    protectors: protectorWatch,
    backlog: aggregator.backlog,
    writer: new CellLeaseWriter({
      client,
      namespace: leaseNamespace,
      cellID: config.aggregator.cellID,
      identity,
      productVersion,
      silentAfterMs,
      timeoutMs: beatsPerTimeout * times.beatMs,
      clock,
    }),
    clock,
    rng,
    logger,
    metrics,
  });
  runtime.metrics.onScrape(() => metrics.setAge(core, heartbeat.ageMs()));
  return { heartbeat, protectorWatch };
}
