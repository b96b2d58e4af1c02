/**
 * Who counts a cell without showing that it is alive: an original aggregator, or one of an earlier release, that has
 * taken the cell over (docs/accounting.md#silent-cells).
 */
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";

/**
 * The cells that an aggregator without heartbeats has counted between two states of one PodProtector, one right after
 * the other. Each aggregator moves lastEventTime with the counts, and only those with heartbeats write
 * countedMinReadySeconds. A Go component that drops our fields of all cells, because it writes the status for another
 * reason, moves no time. With states left out between, as before and after a list, both could seem to be one write.
 */
export function cellsCountedByOthers(before: readonly CellStatus[], after: readonly CellStatus[]): readonly string[] {
  return after.flatMap(({ cellID, aggregation }) => {
    if (aggregation?.lastEventTime === undefined || aggregation.countedMinReadySeconds !== undefined) return [];
    const known = before.find((cell) => cell.cellID === cellID)?.aggregation;
    return known?.lastEventTime === aggregation.lastEventTime ? [] : [cellID];
  });
}
