/** A caller that deletes again whenever there is quota, until the floor is reached. */
import { type AvailableWatch } from "./available.ts";
import { type DeletionAttempt } from "../objects/deletions.ts";
import { type Fleet } from "../fleet/fleet.ts";
import { deleteEverywhere } from "./protected-pods.ts";
import { waitFor } from "../clusters/wait.ts";

export interface FirstWave {
  /** The PodProtector. */
  readonly protector: string;
  readonly names: readonly string[];
  readonly attempts: readonly DeletionAttempt[];
  readonly floor: number;
}

const limitMs = 90_000;
const inFlightPerCell = 48;
const podsEachTime = 30;

/**
 * Resolves to how long that took.
 *
 * Why the first wave may end above the floor: a reservation that no deletion uses comes back only when the aggregator
 * settles it. Two things make such reservations here. A replica that was killed had admitted deletions that it never
 * answered. And a deletion without a grace period is reviewed a second time, mostly at the version before it (the API
 * server's cache is late): when the pod was seen terminating meanwhile, its bucket is settled already, so the review
 * reserves for a pod that is as good as gone, until the next aggregation.
 */
export async function useAllQuota(fleet: Fleet, available: AvailableWatch, first: FirstWave): Promise<number> {
  const startMs = performance.now();
  const attempts = [...first.attempts];
  await waitFor("all quota is used", limitMs, async () => {
    if (available.serving === first.floor) return true;
    const { status } = await fleet.protector(first.protector);
    if ((status?.summary.estimatedAvailableReplicas ?? 0) <= first.floor) return false;
    const gone = new Set(attempts.filter(({ code }) => code === 200).map(({ name }) => name));
    const left = first.names.filter((name) => !gone.has(name)).slice(0, podsEachTime);
    attempts.push(...(await deleteEverywhere(fleet, { names: left, inFlightPerCell })));
    return false;
  });
  return Math.round(performance.now() - startMs);
}
