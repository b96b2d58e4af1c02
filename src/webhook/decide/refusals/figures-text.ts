/** The figures of a refusal: what must stay, is available, promised and free, and the same of each cell. */
import { type CellFigures, type QuotaFigures } from "../../../accounting/reserve/quota-figures.ts";
import { assertNever } from "../../../util/assert.ts";
import { printable } from "../../../util/printable.ts";
import { ageText } from "./silence-text.ts";

/** Cells named in a message, so that a person can read it. */
export const cellsNamedMax = 8;

export function figuresText(figures: QuotaFigures): string {
  const { required, aggregated, unconfirmed, cells } = figures;
  const perCell = cells.slice(0, cellsNamedMax).map((cell) => {
    return `${quoted(cell.cellID)} ${countText(cell)}`;
  });
  const more = cells.length - cellsNamedMax;
  if (more > 0) perCell.push(more === 1 ? "one more cell" : `${more} more cells`);
  const free = Math.max(0, aggregated - unconfirmed - required);
  return (
    `Must stay ${required}, available ${aggregated}, promised ${unconfirmed}, free ${free}` +
    `; by cell: ${perCell.length === 0 ? "none" : perCell.join(", ")}`
  );
}

function countText(cell: CellFigures): string {
  const { silentForMs, last, unconfirmed } = cell;
  const promised = unconfirmed > 0 ? ` - ${unconfirmed}` : "";
  if (silentForMs === undefined) return `${countedText(cell)}${promised}${saidText(cell)}${unseenText(cell)}`;
  return `silent for ${ageText(silentForMs)} (${last}${promised} before)`;
}

function saidText({ said }: CellFigures): string {
  return said === undefined ? "" : ` (of ${said} by its own word)`;
}

function unseenText({ unseen }: CellFigures): string {
  return unseen === undefined ? "" : ` (${unseen} unseen)`;
}

function countedText({ counts, aggregated, last }: CellFigures): string {
  switch (counts) {
    case "in-force":
      return String(aggregated);
    case "none":
      return "not counted";
    case "other-spec":
      return `not counted (${last} by an earlier spec)`;
    case "lost":
      return `not counted (${last} before a restore)`;
    case "remade":
      return `not in force (${last}, since it was made again)`;
    default:
      return assertNever(counts);
  }
}

/** The name of the cell comes from outside: from the writer of a status, the caller of a URL. */
export function quoted(cellID: string): string {
  return printable(JSON.stringify(cellID));
}
