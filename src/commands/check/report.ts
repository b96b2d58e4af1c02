/** The findings as a person reads them, and as a program does. */
import { printable } from "../../util/printable.ts";
import { type Terminal } from "../command.ts";
import { coloured, jsonText, type Tone, wrapped } from "../text/format.ts";
import { counted, type Finding, type Group, type Level } from "./finding.ts";

const words: Readonly<Record<Level, string>> = { ok: "ok", fail: "FAIL", warn: "warn", note: "note", unchecked: "?" };
/** Before the text: two spaces, the longest word, two spaces. */
const indent = 8;
const tones: Readonly<Record<Level, Tone | undefined>> = {
  ok: "good",
  fail: "bad",
  warn: "warning",
  note: undefined,
  unchecked: "faint",
};
const order: readonly Level[] = ["fail", "warn", "note", "ok", "unchecked"];
/** Longer lines are hard to read, however wide the terminal is. */
const columnsMax = 120;
const columnsMin = 40;

type Style = Pick<Terminal, "columns" | "isColoured">;

/** Ends with a line end. */
export function reportText(groups: readonly Group[], style: Style): string {
  const columns = Math.max(columnsMin, Math.min(style.columns, columnsMax));
  const lines = groups
    .filter(({ findings }) => findings.length > 0)
    .flatMap(({ title, findings }) => [
      coloured(style, "strong", printable(title)),
      ...findings.toSorted(bySeverity).flatMap((one) => linesOf(one, columns, style)),
    ]);
  return `${[...lines, summaryText(groups, style)].join("\n")}\n`;
}

/** In each group, what somebody has to mend comes first, and what nobody has looked at last. */
function bySeverity(a: Finding, b: Finding): number {
  return order.indexOf(a.level) - order.indexOf(b.level);
}

/** "2 failures, 3 warnings". */
function summaryText(groups: readonly Group[], style: Style): string {
  const { fail, warn, unchecked } = countsOf(groups);
  const counts = [
    ...(fail > 0 ? [coloured(style, "bad", counted(fail, "failure"))] : []),
    ...(warn > 0 ? [coloured(style, "warning", counted(warn, "warning"))] : []),
  ];
  const found = counts.length === 0 ? coloured(style, "good", "no failures, no warnings") : counts.join(", ");
  return unchecked === 0 ? found : `${found}; ${unchecked} not checked`;
}

export function countsOf(groups: readonly Group[]): Readonly<Record<Level, number>> {
  const counts = { ok: 0, fail: 0, warn: 0, note: 0, unchecked: 0 };
  for (const { findings } of groups) for (const { level } of findings) counts[level] += 1;
  return counts;
}

/** One object; ends with a line end. */
export function reportJson(groups: readonly Group[]): string {
  const { fail, warn } = countsOf(groups);
  const findings = groups.flatMap(({ title, findings: own }) => own.map((finding) => ({ group: title, ...finding })));
  return jsonText({ failures: fail, warnings: warn, findings });
}

function linesOf({ level, text, cure, command, page }: Finding, columns: number, style: Style): readonly string[] {
  const word = `  ${coloured(style, tones[level], words[level])}${" ".repeat(indent - 2 - words[level].length)}`;
  const width = columns - indent;
  const [first = "", ...rest] = wrapped(printable(text), width);
  const further = [...rest, ...(cure === undefined ? [] : wrapped(`-> ${printable(cure)}`, width, "   "))].map(
    (line) => " ".repeat(indent) + line,
  );
  return [
    `${word}${first}`,
    ...further,
    // Never broken, so that it can be copied; a little to the left, so that the longest one fits 80 columns.
    ...(command === undefined ? [] : [`${" ".repeat(indent - 2)}${printable(command)}`]),
    ...(page === undefined ? [] : [`${" ".repeat(indent)}${coloured(style, "faint", page)}`]),
  ];
}
