/** The heartbeat of a cell in one core, and the watch of PodProtectors that it vouches for. */
import {
  type Aggregator,
  CellClaim,
  CellLeaseWriter,
  createHeartbeatMetrics,
  Heartbeat,
  ProtectorWatch,
  Tenure,
} from "../../aggregator/index.ts";
import { silenceTimes } from "../../accounting/silence/silence-times.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { podProtectors, type StoredProtector } from "../../kube/resources.ts";
import { listBarrier } from "../../kube/watch/index.ts";
import { type Logger } from "../../util/logger.ts";
import { type CellAlarms } from "./cell-alarms.ts";
import { type ConnectedCore, coreMetrics, type Runtime } from "../runtime.ts";

/** A deposed leader stops within the duration of the Lease, and the last request that it has sent ends soon after. */
const leasesPerOverlap = 2;
/** A beat is of no use when the next one is overdue. */
const beatsPerTimeout = 2;

export interface HeartbeatParts {
  readonly core: Pick<ConnectedCore, "name" | "namespace">;
  readonly worker: KubeClient;
  /** The core's client for heartbeats. */
  readonly client: KubeClient;
  readonly aggregator: Aggregator;
  readonly protectors: Informer<StoredProtector>;
  /** Of the leader election. */
  readonly identity: string;
  /** They say what is wrong with the gate. */
  readonly alarms: Pick<CellAlarms, "eventsOf" | "gate">;
  readonly logger: Logger;
}

/** Call before the informer of PodProtectors runs. */
export function createHeartbeat(
  runtime: Runtime,
  parts: HeartbeatParts,
): { readonly heartbeat: Heartbeat; readonly protectorWatch: ProtectorWatch; readonly tenure: Tenure } {
  const { config, clock, rng, productVersion } = runtime;
  const { client, worker, aggregator, protectors, identity, alarms, logger } = parts;
  const { name: core, namespace } = parts.core;
  const { leaseNamespace, silentAfterMs } = config.cells;
  const { cellID, elector } = config.aggregator;
  const { gate } = alarms;
  const times = silenceTimes(silentAfterMs);
  const metrics = createHeartbeatMetrics(coreMetrics(runtime, core));
  const protectorWatch = new ProtectorWatch({
    protectors,
    listBarrier: (signal) => listBarrier(client, podProtectors, namespace, { signal }),
    clock,
    logger: logger.with({ core }),
    historyResets: metrics.coreResets,
  });
  const writer = new CellLeaseWriter({
    client,
    namespace: leaseNamespace,
    cellID,
    identity,
    productVersion,
    silentAfterMs,
    timeoutMs: beatsPerTimeout * times.beatMs,
    clock,
  });
  const shared = { core, times, writer, clock, logger, metrics };
  const tenure = new Tenure({
    ...shared,
    cellID,
    namespace: leaseNamespace,
    worker,
    claim: new CellClaim({
      identity,
      times,
      overlapMs: elector.enable ? leasesPerOverlap * elector.leaseDurationMs : undefined,
    }),
    events: alarms.eventsOf(core),
  });
  const heartbeat = new Heartbeat({
    ...shared,
    tenure,
    pods: aggregator.podWatch,
    protectors: protectorWatch,
    backlog: aggregator.backlog,
    gate,
    rng,
  });
  runtime.metrics.onScrape(() => metrics.setAge(core, heartbeat.ageMs()));
  return { heartbeat, protectorWatch, tenure };
}
