/** Settings of an elector, and their rules. */
import { hostname } from "node:os";
import { randomHex, type Rng } from "../../util/rng.ts";

export interface ElectorConfig {
  /** False = no Lease: this process always leads. */
  readonly enable: boolean;
  readonly namespace: string;
  readonly name: string;
  /** How long others leave a silent holder its Lease. */
  readonly leaseDurationMs: number;
  /** How long a holder that cannot renew goes on. */
  readonly renewDeadlineMs: number;
  /** Pause between attempts. */
  readonly retryPeriodMs: number;
}

/**
 * Candidates wait up to 2.2 periods, so that they do not all write at once; a holder needs at least one attempt within
 * the deadline.
 */
export const jitterFactor = 1.2;

/** The reason why the settings cannot work, in words; undefined when they can. */
export function validateElectorConfig(config: ElectorConfig): string | undefined {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = config;
  if (!config.enable) return undefined;
  if (config.name === "" || config.namespace === "") return "the Lease needs a name and a namespace";
  if (!(retryPeriodMs > 0)) return "the retry period must be above 0";
  if (!(renewDeadlineMs > jitterFactor * retryPeriodMs)) {
    return `the renew deadline (${renewDeadlineMs} ms) must be longer than ${jitterFactor} times the retry period (${retryPeriodMs} ms)`;
  }
  if (!(leaseDurationMs > renewDeadlineMs)) {
    return `the lease duration (${leaseDurationMs} ms) must be longer than the renew deadline (${renewDeadlineMs} ms)`;
  }
  return undefined;
}

/** `<hostname>_<32 hexadecimal digits>`: tells people the pod, and two processes on one host apart. */
export function createIdentity(rng: Rng): string {
  return `${hostname()}_${randomHex(rng, 32)}`;
}
