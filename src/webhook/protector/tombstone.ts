/** What is known of a PodProtector that is gone without having been let go (tombstones.ts). */
import { type EpochMicros, type MonotonicMs } from "../../util/clock.ts";
import { type Marks } from "./departure.ts";

/** It stays in force from memory. */
export interface Tombstone {
  readonly uid: string;
  readonly maker: Marks["maker"];
  /** Its release may have left the list of releases unseen. */
  mayHaveBeenReleased?: boolean;
  /** When this replica noticed. */
  readonly sinceMs: MonotonicMs;
  readonly since: EpochMicros;
  /** Namespace of the generator's ConfigMap, in which a person lets it go. */
  readonly stateNamespace: string;
}

/**
 * How long the counts of a PodProtector that was made again are not in force. What was admitted on the former object
 * can commit until then, and the new one has no record of it. It is the default of --aggregator-settle-window.
 */
export const remadeSettleMs = 75_000;
