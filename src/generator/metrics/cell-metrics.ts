/** Metrics of what the generator does about cells (docs/cells.md). */
import { type Counter, type Metrics } from "../../util/metrics.ts";

/** All 0 while this process does not lead. */
export interface CellSizes {
  /** Ghost cells of all PodProtectors. */
  readonly ghosts: number;
  readonly silent: number;
  /** PodProtectors of which nothing is free without a silent cell. */
  readonly affected: number;
  readonly retiring: number;
  /** PodProtectors that still have a cell that is being retired. */
  readonly retiringProtectors: number;
}

export interface CellMetrics {
  /** Cells removed from PodProtectors, by `reason`: "asked" by remove-cell-once, "ghost", "retired". */
  readonly removed: Counter;
  /** Failed removals, which are retried, by `error`. */
  readonly failures: Counter;
  /** Failed writes about Leases of cells, by `error`. */
  readonly leaseFailures: Counter;
  /** To be called before each scrape. */
  setSizes(sizes: CellSizes): void;
}

export function createCellMetrics(metrics: Metrics): CellMetrics {
  const silent = metrics.gauge("generator_silent_cells", "Cells that are silent, as the leader sees them");
  const affected = metrics.gauge(
    "generator_silent_cell_podprotectors",
    "PodProtectors of which nothing is free without a silent cell, as the leader sees them",
  );
  const retiring = metrics.gauge("generator_retiring_cells", "Cells that are being removed from all PodProtectors");
  const retiringProtectors = metrics.gauge(
    "generator_retiring_cell_podprotectors",
    "PodProtectors that still have a cell that is being retired",
  );
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
    leaseFailures: metrics.counter(
      "generator_cell_lease_write_failures_total",
      "Writes about Leases of cells that failed, by error",
      ["error"],
    ),
    setSizes(sizes) {
      ghosts.set({}, sizes.ghosts);
      silent.set({}, sizes.silent);
      affected.set({}, sizes.affected);
      retiring.set({}, sizes.retiring);
      retiringProtectors.set({}, sizes.retiringProtectors);
    },
  };
}
