/** What the aggregator of one cell and one core is made with. */
import { type PodRecord } from "../../api/pod.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type SyncTime } from "../../accounting/settle/sync-time.ts";
import type { Config } from "../../config/config.ts";
import { type Informer } from "../../kube/informer.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Rng } from "../../util/rng.ts";
import { type Coverage } from "./coverage.ts";
import { type AggregatorMetrics } from "../metrics.ts";

/** The settings that the aggregation needs, under the names that they have in the Config. */
export interface AggregatorSettings extends Pick<
  Config["aggregator"],
  | "cellID"
  | "podProtectorLabelSelector"
  | "queue"
  | "rateJitterHigh"
  | "rateJitterLow"
  | "settleWindowMs"
  | "settlementFenceDelayMs"
> {
  readonly syncTime: SyncTime;
  readonly history: Config["history"];
  /** It has watched PodProtectors for a settle window: no first counts wait for that. Default: it has not. */
  readonly hasBeenUp?: boolean | undefined;
  /** Most fences that wait to be sent. Default: fencer.ts. */
  readonly fencesWaitingMax?: number | undefined;
  /** Most pods that fences are remembered of. Default: fence-registry.ts. */
  readonly fencedPodsMax?: number | undefined;
}

export interface AggregatorDependencies {
  readonly core: KubeClient;
  readonly worker: KubeClient;
  readonly protectors: Informer<StoredProtector>;
  readonly pods: Informer<PodRecord>;
  /** Hears of matches. */
  readonly coverage: Pick<Coverage, "addTable" | "recheck">;
  /** Sends a LIST of the cell's pods with resourceVersion unset and limit 1. */
  readonly listBarrier: (signal: AbortSignal) => Promise<ResourceVersion>;
  /** Makes an event in the cell if it can (update-trigger), so that a barrier is passed soon. */
  readonly touch: () => void;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: AggregatorMetrics;
}
