/**
 * Tables of figures for people: aligned columns where the terminal is wide enough, else one record after the other; or
 * markdown.
 */

export interface Table {
  readonly title: string;
  readonly header: readonly string[];
  /** The first column names the row; the others hold figures. */
  readonly rows: readonly (readonly string[])[];
}

const gap = "  ";

/** Fits the table into `width` columns. */
export function renderText({ title, header, rows }: Table, width: number): string {
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const total = widths.reduce((sum, one) => sum + one + gap.length, -gap.length);
  const line = (row: readonly string[]): string =>
    row
      .map((text, column) => (column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0)))
      .join(gap);
  const body = total <= width ? [header, ...rows].map(line) : rows.flatMap((row) => record(header, row, width));
  return [title, ...body].join("\n");
}

/** "name" on a line of its own, then "column figure" pairs, as many to a line as fit. */
function record(header: readonly string[], row: readonly string[], width: number): string[] {
  const lines: string[] = [row[0] ?? ""];
  let current = "";
  for (const [column, text] of row.entries()) {
    if (column === 0) continue;
    const pair = `${header[column]} ${text}`;
    if (current !== "" && current.length + 2 * gap.length + pair.length > width) {
      lines.push(gap + current);
      current = "";
    }
    current += (current === "" ? "" : gap) + pair;
  }
  if (current !== "") lines.push(gap + current);
  return lines;
}

export function renderMarkdown({ title, header, rows }: Table): string {
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  const rule = line(header.map((_, column) => (column === 0 ? "---" : "---:")));
  return [`**${title}**`, "", line(header), rule, ...rows.map(line)].join("\n");
}
