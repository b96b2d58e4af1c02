/** The rule for the settings of a leader election: asked of the flags, and of what the elector is given. */
import type { ElectorConfig } from "./config.ts";
import { formatDuration } from "./types/duration.ts";

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
