/**
 * PodProtectors that are gone without having been released, so that webhooks keep them in force from memory
 * (docs/webhook.md#tombstones). Only webhooks know them. What is visible in the core is the Event that each replica
 * writes about it, and the API server forgets Events after an hour.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type GeneratorState, isLetGo } from "../../kube/generator-state.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type ProtectorEvent, releasesOf } from "./refusals.ts";

export interface SeenTombstone {
  readonly protector: ObjectKey;
  readonly uid: string;
  /** The last word of a webhook about it. */
  readonly lastAt: EpochMicros | undefined;
}

const reason = "PodProtectorLost";
/** In the Event of one that is no longer in force, whatever the cause (webhook/tombstone-report.ts). */
const ended = "no longer in force";

/**
 * `present`: the PodProtectors that are there; another one under its name ends a tombstone, even if it was released
 * since. `state`: undefined when it cannot be read.
 */
export function seenTombstones(
  events: readonly ProtectorEvent[],
  present: ReadonlySet<ObjectKey>,
  state: GeneratorState | undefined,
): readonly SeenTombstone[] {
  const byUID = Map.groupBy(
    events.filter((event) => event.reason === reason && event.uid !== undefined),
    ({ uid }) => uid ?? "",
  );
  const released = new Map(
    releasesOf(events, 0 as EpochMicros)
      .toReversed()
      .map(({ protector, at }) => [protector, at]),
  );
  return Array.from(byUID).flatMap(([uid, ofOne]): SeenTombstone[] => {
    const newest = ofOne.reduce((best, one) => ((one.lastAt ?? 0) >= (best.lastAt ?? 0) ? one : best));
    if (present.has(newest.protector) || (state !== undefined && isLetGo(state, uid))) return [];
    if ((released.get(newest.protector) ?? -1) > (newest.lastAt ?? 0)) return [];
    return newest.message.includes(ended) ? [] : [{ protector: newest.protector, uid, lastAt: newest.lastAt }];
  });
}
