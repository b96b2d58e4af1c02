/** Metrics of what the generator does about cells (docs/cells.md). */
import { type Counter, type Metrics } from "../util/metrics.ts";

export interface CellSizes {
  /** Ghost cells of all PodProtectors; 0 while this process does not lead. */
  readonly ghosts: number;
}

export interface CellMetrics {
  /** Cells removed from PodProtectors, by `reason`: "asked" by remove-cell-once, "ghost". */
  readonly removed: Counter;
  /** Failed removals, which are retried, by `error`. */
  readonly failures: Counter;
  /** To be called before each scrape. */
  setSizes(sizes: CellSizes): void;
}

export function createCellMetrics(metrics: Metrics): CellMetrics {
  const ghosts = metrics.gauge(
    "generator_ghost_cells",
    "Cells with admitted deletions and without counts, over all PodProtectors, as the leader sees them",
  );
  return {
    removed: metrics.counter("generator_cells_removed_total", "Cells that were removed from PodProtectors, by reason", [
      "reason",
    ]),
    failures: metrics.counter(
      "generator_cell_removal_failures_total",
      "Attempts to remove cells from a PodProtector that failed, by error",
      ["error"],
    ),
    setSizes(sizes) {
      ghosts.set({}, sizes.ghosts);
    },
  };
}
