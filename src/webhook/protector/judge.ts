/**
 * Judges deletions against the state of one PodProtector: joins the pure rule of accounting/reserve/reservation.ts with
 * clock and settings.
 */
import { type PodRecord } from "../../api/pod.ts";
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { type HistoryConfig, historyConfigOf } from "../../accounting/history/history-config.ts";
import { reserve, type Reservation } from "../../accounting/reserve/reservation.ts";
import { type Clock } from "../../util/clock.ts";
import { isProtected, type ProtectorView } from "./protector-view.ts";

/** A deletion that was asked for, before any PodProtector looks at it. */
export interface Deletion {
  readonly operation: "delete" | "evict";
  readonly cellID: string;
  readonly pod: PodRecord;
  readonly criterion: HealthCriterion;
  /** Allowed whatever the quota says; recorded if possible. */
  readonly isForced: boolean;
}

/** Judges `deletions` in the order given; all must be counted by `view`. */
export type Judge = (
  view: ProtectorView,
  countsLostUpTo: ReadonlyMap<string, ResourceVersion>,
  deletions: readonly Deletion[],
) => Reservation;

export function createJudge(options: {
  readonly clock: Clock;
  /** Used where a PodProtector sets none. */
  readonly history: HistoryConfig;
  /** Write pod names into the buckets of this cell. */
  readonly requiresPodName: (cellID: string) => boolean;
}): Judge {
  const { clock, history, requiresPodName } = options;
  return (view, countsLostUpTo, deletions) =>
    reserve(
      view.protector,
      deletions.map((deletion) => ({ ...deletion, isProtected: isProtected(view, deletion.pod.labels) })),
      {
        now: clock.epochMicros(),
        config: historyConfigOf(view.protector.spec.admissionHistoryConfig, history),
        countedSpec: view.spec.countedSpec,
        requiresPodName,
        countsLostUpTo,
      },
    );
}
