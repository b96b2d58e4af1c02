/**
 * Whether a generator leads that would make objects without status. One that was stopped a moment ago still has its
 * name on its Lease, so the Lease is watched: a leader renews it, and a stopped one does not.
 */
import { later, sleep } from "../../util/clock.ts";
import { isAway } from "../check/findings/generator.ts";
import { readLease } from "../check/readers/leases.ts";
import { type RestoreSite } from "./restored-definition.ts";

/** As in the manifests. */
const election = "podseidon-generator";
/** A generator's Lease lasts 15 s by default; a leader that cannot renew it stops before. */
const quietMs = 20_000;
const pollMs = 1_000;

/**
 * Who leads; undefined = nobody. Waits for 20 s at most, and calls `tell` before it does. Clocks decide only where they
 * say that the last renewal was long ago. Throws KubeError.
 */
export async function findLeader(
  { core, clock, signal }: RestoreSite,
  namespace: string,
  tell: (line: string) => void,
): Promise<string | undefined> {
  const end = later(clock.monotonicMs(), quietMs);
  let seen: string | undefined;
  for (;;) {
    const lease = await readLease(core, namespace, election, signal);
    if (lease === undefined || isAway(lease, clock.epochMicros())) return undefined;
    const renewal = `${lease.holder} ${lease.renewedAt ?? ""}`;
    if (seen !== undefined && renewal !== seen) return lease.holder;
    if (clock.monotonicMs() >= end) return undefined;
    if (seen === undefined) tell(`wait up to 20 s, to see whether the generator ${lease.holder} has stopped`);
    seen = renewal;
    await sleep(clock, pollMs, signal);
  }
}
