/**
 * After a restore of the core, or a reset of a worker's history, counts are written whatever version is recorded. Such
 * a recount carries a mark (`recountedAt`), so that who remembers a higher version can tell it from a state that a
 * backup brought back. Later writes keep the mark.
 */
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";

/**
 * Whether `aggregation` comes from a recount that `known` did not come from. Recounts of one cell are minutes apart and
 * nearly always by one aggregator, so their times order them; one that a clock puts before the last is overlooked,
 * which is late but safe.
 */
export function isRecountedSince(known: Aggregation | undefined, aggregation: Aggregation | undefined): boolean {
  const mark = aggregation?.recountedAt;
  const knownMark = known?.recountedAt;
  return mark !== undefined && (knownMark === undefined || mark > knownMark);
}
