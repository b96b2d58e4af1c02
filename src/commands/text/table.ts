/**
 * Tables that fit the terminal. Where there is too little room, the widest of the columns that may give way is
 * shortened in the middle, so that beginning and end of a long name stay.
 */
import { printable } from "../../util/printable.ts";
import { type Terminal } from "../command.ts";
import { coloured, type Tone, wrapped } from "./format.ts";

export interface Column {
  readonly title: string;
  readonly align?: "right";
  /** At least so many characters stay when the terminal is narrow; absent = the column never gives way. */
  readonly shrinksTo?: number;
}

export interface Cell {
  readonly text: string;
  readonly tone?: Tone | undefined;
}

export interface Row {
  readonly cells: readonly (string | Cell)[];
  /** Lines below the row, broken where they are too long; indented. */
  readonly under?: readonly string[];
}

const underIndent = "    ";

/** Between two columns. */
const gap = "  ";

/**
 * Lines with a line end each, the first with the titles. Texts of cells are made printable. Lines are at most as long
 * as the terminal is wide, unless the columns cannot give way that far.
 */
export function table(
  columns: readonly Column[],
  rows: readonly Row[],
  terminal: Pick<Terminal, "columns" | "isColoured">,
): string {
  const cells = rows.map((row) =>
    row.cells.map((cell) => (typeof cell === "string" ? { text: cell } : cell)).map(shown),
  );
  const titles = columns.map(({ title }): Cell => ({ text: title, tone: "faint" }));
  const widths = fitted(columns, [titles, ...cells], terminal.columns);
  const lines = cells.map((row, index) => lineOf(row, columns, widths, terminal) + below(rows[index], terminal));
  return [lineOf(titles, columns, widths, terminal), ...lines].join("");
}

function below(row: Row | undefined, terminal: Pick<Terminal, "columns" | "isColoured">): string {
  const lines = (row?.under ?? []).flatMap((text) =>
    wrapped(underIndent + printable(text), terminal.columns, `${underIndent}  `),
  );
  return lines.map((line) => `${line.replace(/\S.*/, (text) => coloured(terminal, "faint", text))}\n`).join("");
}

function shown({ text, tone }: Cell): Cell {
  return { text: printable(text), tone };
}

function fitted(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): readonly number[] {
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => lengthOf(row[index]?.text ?? ""))));
  const total = (): number => widths.reduce((sum, one) => sum + one, 0) + gap.length * (columns.length - 1);
  for (let excess = total() - width; excess > 0; excess = total() - width) {
    const widest = columns.reduce<number | undefined>((best, { shrinksTo }, index) => {
      const own = widths[index] ?? 0;
      if (shrinksTo === undefined || own <= shrinksTo) return best;
      return best === undefined || own > (widths[best] ?? 0) ? index : best;
    }, undefined);
    if (widest === undefined) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function lineOf(
  row: readonly Cell[],
  columns: readonly Column[],
  widths: readonly number[],
  terminal: Pick<Terminal, "isColoured">,
): string {
  const texts = columns.map(({ align }, index) => {
    const { text = "", tone } = row[index] ?? {};
    const cut = shortened(text, widths[index] ?? 0);
    const blanks = " ".repeat(Math.max(0, (widths[index] ?? 0) - lengthOf(cut)));
    const inColour = coloured(terminal, tone, cut);
    return align === "right" ? blanks + inColour : inColour + blanks;
  });
  return `${texts.join(gap).trimEnd()}\n`;
}

/** The beginning and the end of a text that is too long, with … between them. */
export function shortened(text: string, width: number): string {
  const characters = Array.from(text);
  if (characters.length <= width) return text;
  if (width <= 1) return "…".slice(0, Math.max(0, width));
  const end = Math.floor((width - 1) / 2);
  return `${characters.slice(0, width - 1 - end).join("")}…${end === 0 ? "" : characters.slice(-end).join("")}`;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
