/** The table of the cells, for `status` and `cells list`. */
import { type Terminal } from "../command.ts";
import { type CoreLook } from "../fleet/look.ts";
import { type Column, type Row, table } from "../text/table.ts";
import { cellLines, cellTone, heardText, isCellWrong } from "./cell-lines.ts";

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
