/** What an observer of the heartbeats of cells shows to people. Names of cells come only from Leases that exist. */
import { type ObservedCell } from "../../accounting/silence/cell-silence.ts";
import { type MonotonicMs } from "../../util/clock.ts";
import { type Gauge, type MetricLabels, type Metrics } from "../../util/metrics.ts";

export interface CellMetrics {
  /** A LIST has ended: "ok", "no-writes" (it shows that nobody can write heartbeats), or the kind of its error. */
  listed(result: string): void;
  /** How many cells have no Lease; called before each scrape. */
  withoutLease(count: number): void;
  /** Called before each scrape. */
  show(cells: Iterable<ObservedCell>, now: MonotonicMs): void;
}

const states = ["beating", "keep", "silent"] as const;

/**
 * Cells with series of their own. Series are never taken back, and whoever may create Leases could make a new name each
 * second; a fleet has fewer clusters than this.
 */
const seriesMax = 1_000;

/** `labels`: which core, and which observer of it. */
export function createCellMetrics(metrics: Metrics, labels: { core: string; observer: string }): CellMetrics {
  const names = ["core", "observer"];
  const lists = metrics.counter("cell_lease_list_total", "LISTs of the heartbeats of cells, by result", [
    ...names,
    "result",
  ]);
  const lacking = metrics.gauge(
    "cells_without_lease",
    "Cells of PodProtectors without heartbeats, so that nobody notices when they fall silent",
    names,
  );
  const gauges: CellGauges = {
    state: metrics.gauge("cell_state", "1 for the state that the cell is in: beating, keep, silent", [
      ...names,
      "cell",
      "state",
    ]),
    age: metrics.gauge("cell_beat_age_seconds", "Seconds since the last heartbeat of the cell was seen", [
      ...names,
      "cell",
    ]),
    behind: metrics.gauge(
      "cell_behind_podprotectors",
      "PodProtectors that the aggregator of the cell cannot count or write, so that for them alone it is silent",
      [...names, "cell"],
    ),
  };
  const shown = new Set<string>();
  return {
    listed: (result) => lists.inc({ ...labels, result }),
    withoutLease: (count) => lacking.set(labels, count),
    show(cells, now) {
      const gone = new Set(shown);
      for (const cell of cells) {
        if (!shown.has(cell.cellID) && shown.size >= seriesMax) continue;
        shown.add(cell.cellID);
        gone.delete(cell.cellID);
        showCell(gauges, { ...labels, cell: cell.cellID }, cell, now);
      }
      for (const cellID of gone) showNothing(gauges, { ...labels, cell: cellID });
    },
  };
}

interface CellGauges {
  readonly state: Gauge;
  readonly age: Gauge;
  readonly behind: Gauge;
}

function showCell(gauges: CellGauges, labels: MetricLabels, cell: ObservedCell, now: MonotonicMs): void {
  for (const state of states) gauges.state.set({ ...labels, state }, state === cell.state.kind ? 1 : 0);
  gauges.age.set(labels, (now - cell.beatAt) / 1000);
  gauges.behind.set(labels, cell.behind.size);
}

function showNothing(gauges: CellGauges, labels: MetricLabels): void {
  for (const state of states) gauges.state.set({ ...labels, state }, 0);
  gauges.age.set(labels, 0);
  gauges.behind.set(labels, 0);
}
