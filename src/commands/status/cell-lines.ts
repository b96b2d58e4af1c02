/** The cells of a core, as `status` and `cells list` show them. */
import { type Terminal } from "../command.ts";
import { type FleetCell, type GateFault, gateFaultOf } from "../fleet/cells.ts";
import { type CoreLook } from "../fleet/look.ts";
import { ageText, type Tone } from "../text/format.ts";
import { type Column, type Row, table } from "../text/table.ts";

export type CellState =
  | "ok"
  | "silent"
  /** Its aggregator should have been heard by now. */
  | "late"
  | "silent, kept"
  | "retiring"
  | GateFault["state"]
  /** Counted, and without a Lease: by an aggregator without heartbeats, or somebody has deleted it. */
  | "no heartbeat"
  /** Neither counted nor with a Lease. */
  | "ghost";

export interface CellLine {
  readonly cellID: string;
  readonly state: CellState;
  /** What a person has to know besides, in words. */
  readonly remarks: readonly string[];
  readonly cell: FleetCell | undefined;
  /** PodProtectors that have it in their status; undefined = they cannot be read. */
  readonly protectors: number | undefined;
  /** Pods that it has counted as available, summed over them. */
  readonly available: number | undefined;
}

/** All cells that have a Lease or are in a status. Those that are wrong come first. */
export function cellLines({ cells, protectors }: CoreLook): readonly CellLine[] {
  const counted = new Map<string, { protectors: number; available: number; isCounted: boolean }>();
  for (const { figures } of protectors?.standings ?? []) {
    for (const { cellID, counts, last } of figures.cells) {
      const sums = counted.get(cellID) ?? { protectors: 0, available: 0, isCounted: false };
      sums.protectors += 1;
      sums.available += last;
      sums.isCounted ||= counts !== "none";
      counted.set(cellID, sums);
    }
  }
  const names = [...new Set([...(cells?.cells.keys() ?? []), ...counted.keys()])].sort();
  const lines = names.map((cellID): CellLine => {
    const cell = cells?.cells.get(cellID);
    const sums = counted.get(cellID);
    const without = sums?.isCounted === true || cells === undefined ? "no heartbeat" : "ghost";
    return {
      cellID,
      state: cell === undefined ? without : stateOf(cell),
      remarks: cell === undefined ? [] : remarksOn(cell, sums?.protectors ?? 0),
      cell,
      protectors: protectors === undefined ? undefined : (sums?.protectors ?? 0),
      available: protectors === undefined ? undefined : (sums?.available ?? 0),
    };
  });
  return lines.sort((a, b) => Number(isCellWrong(b.state)) - Number(isCellWrong(a.state)));
}

/** Whether somebody has to do something about it. */
export function isCellWrong(state: CellState): boolean {
  return state === "silent" || state === "ghost" || state.startsWith("gate ");
}

export function cellTone(state: CellState): Tone {
  if (isCellWrong(state)) return "bad";
  return state === "ok" ? "good" : "warning";
}

/** `0.3 s ago`, or what is known instead. */
export function heardText({ cell }: CellLine): string {
  const { heardAgoMs } = cell?.glance ?? {};
  return heardAgoMs === undefined ? "never" : `${ageText(heardAgoMs)} ago`;
}

function stateOf({ lease, glance }: FleetCell): CellState {
  if (lease.isForgotten) return "retiring";
  if (glance.silentForMs !== undefined) return glance.isKept ? "silent, kept" : "silent";
  return gateFaultOf(lease)?.state ?? (glance.lateForMs === undefined ? "ok" : "late");
}

/** `protectors`: PodProtectors that are known to have it in their status. */
function remarksOn(cell: FleetCell, protectors: number): readonly string[] {
  const { lease, glance } = cell;
  const remarks = stateOf(cell) === "late" ? ["does its aggregator run?"] : [];
  if (lease.isForgotten && protectors > 0)
    remarks.push(`still in ${protectors} PodProtectors; Events of its Lease ${lease.name} say what keeps it there`);
  const fault = gateFaultOf(lease);
  if (fault !== undefined) remarks.push(fault.remark);
  if (glance.isKept) remarks.push(`its last counts are kept in force until ${lease.keepUntil}`);
  if (lease.adopt !== undefined) remarks.push(`may be taken over by the cluster ${lease.adopt}`);
  for (const { annotation, value, allowed } of lease.ignored) {
    remarks.push(`annotation ${annotation}=${JSON.stringify(value)} is ignored; allowed: ${allowed}`);
  }
  return remarks;
}

const columns: readonly Column[] = [
  { title: "CELL", shrinksTo: 12 },
  { title: "HEARD", align: "right" },
  { title: "COUNTED", align: "right" },
  { title: "AGGREGATOR", shrinksTo: 16 },
  { title: "STATE" },
];

/** "" when there are none. */
export function cellsTable(look: CoreLook, terminal: Pick<Terminal, "columns" | "isColoured">): string {
  const rows = cellLines(look).map((line): Row => {
    const { cellID, available, cell, state, remarks } = line;
    const { holderIdentity = "" } = cell?.lease ?? {};
    const pods = available === undefined ? "?" : String(available);
    return {
      cells: [cellID, heardText(line), pods, holderIdentity, { text: state, tone: cellTone(state) }],
      under: remarks,
    };
  });
  return rows.length === 0 ? "" : table(columns, rows, terminal);
}

export function cellsJson(look: CoreLook): { readonly core: string; readonly cells: readonly object[] } {
  const cells = cellLines(look).map((line) => ({
    cell: line.cellID,
    state: line.state,
    isWrong: isCellWrong(line.state),
    heardAgoMs: line.cell?.glance.heardAgoMs,
    silentForMs: line.cell?.glance.silentForMs,
    keptUntil: line.cell?.lease.keepUntil,
    aggregator: line.cell?.lease.holderIdentity,
    version: line.cell?.lease.productVersion,
    clusterUID: line.cell?.lease.clusterUID,
    protectors: line.protectors,
    available: line.available,
    remarks: line.remarks,
  }));
  return { core: look.core, cells };
}
