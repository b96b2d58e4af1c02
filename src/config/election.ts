/** The settings of a leader election, and their rule: asked of the flags, and of what the elector is given. */
import { hash } from "node:crypto";
import { formatDuration } from "./types/duration.ts";

export interface ElectorConfig {
  /** False = no Lease: this process always leads. */
  readonly enable: boolean;
  readonly namespace: string;
  readonly name: string;
  /** How long other candidates wait before they take over a Lease that is not renewed. */
  readonly leaseDurationMs: number;
  /** How long a leader that cannot renew continues. */
  readonly renewDeadlineMs: number;
  /** Pause between attempts. */
  readonly retryPeriodMs: number;
}

/**
 * A candidate waits up to 2.2 retry periods, so that not all candidates write at once (client-go's JitterFactor). A
 * leader needs at least one attempt within the renew deadline.
 */
export const retryJitterFactor = 1.2;

/**
 * Why the settings cannot work, naming each setting as `--<flagPrefix><flag>`; undefined when they can, or when the
 * election is disabled.
 */
export function electionProblem(config: ElectorConfig, flagPrefix: string): string | undefined {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = config;
  if (!config.enable) return undefined;
  if (config.namespace === "" || config.name === "")
    return `--${flagPrefix}namespace and --${flagPrefix}name must not be empty`;
  if (!(retryPeriodMs > 0)) return `--${flagPrefix}retry-period must be longer than 0`;
  const lease = `--${flagPrefix}lease-duration (${formatDuration(leaseDurationMs)})`;
  const renew = `--${flagPrefix}renew-deadline (${formatDuration(renewDeadlineMs)})`;
  const retry = `--${flagPrefix}retry-period (${formatDuration(retryPeriodMs)})`;
  if (!(leaseDurationMs > renewDeadlineMs)) return `${lease} must be longer than ${renew}`;
  if (!(renewDeadlineMs > retryJitterFactor * retryPeriodMs))
    return `${renew} must be longer than ${retryJitterFactor} times ${retry}`;
  return undefined;
}

/** Upstream's name. It stays that of the cell "default", which most installations of one cluster have. */
const base = "podseidon-aggregator";

/**
 * Under which name the aggregators of a cell elect their leader, in the worker cluster. One Lease for each cell, since
 * a worker cluster may hold several cells and each needs a leader. Names of Leases are lower case: a cell's name that
 * is not a DNS name as it is gets a digest, so that no two cells share a Lease.
 */
export function aggregatorLeaseName(cellID: string): string {
  if (cellID === "default") return base;
  if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(cellID)) return `${base}-${cellID}`;
  const plain = cellID.toLowerCase().replaceAll(/[^-a-z0-9]/g, "-");
  return `${base}-${plain}-${hash("sha256", cellID, "hex").slice(0, 8)}`;
}
