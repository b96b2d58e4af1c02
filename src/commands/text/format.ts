/** How text is written for people and programs: broken into lines, coloured, ages, JSON, words for a shell. */
import { printable } from "../../util/printable.ts";
import { type Terminal } from "../command.ts";

/**
 * Lines of at most `width` characters, broken at blanks; the first keeps its own indent, the later ones get `indent`.
 * A word that is longer than a line is left whole, so that it can be copied; where the indent alone is too much, it
 * begins further to the left. Colours take no room.
 */
export function wrapped(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  const [margin = ""] = /^ */.exec(text) ?? [];
  let line = margin;
  for (const word of text.slice(margin.length).split(" ")) {
    const isFirst = line.trim() === "";
    const joined = isFirst ? line + word : `${line} ${word}`;
    if (isFirst || lengthOf(joined) <= width) line = joined;
    else {
      lines.push(line);
      line = " ".repeat(Math.max(0, Math.min(indent.length, width - lengthOf(word)))) + word;
    }
  }
  return [...lines, line];
}

/** The same of text that may hold anything, as lines to be written. */
export function lines(text: string, columns: number, indent = ""): string {
  return `${wrapped(printable(text), columns, indent).join("\n")}\n`;
}

function lengthOf(text: string): number {
  return text.replaceAll(/\u001b\[\d+m/g, "").length;
}

/** A command for a shell in lines of at most `width` characters, so that they can be copied as they are. */
export function wrappedCommand(command: string, width: number, indent: string): readonly string[] {
  const continued = " \\";
  const lines = wrapped(indent + command, width - continued.length, `${indent}  `);
  return lines.map((line, index) => (index === lines.length - 1 ? line : line + continued));
}

/** How long something has lasted, for people: the two largest units, and no more digits than matter. */

/**
 * `0.4 s`, `12 s`, `4 m 02 s`, `3 h 05 m`, `2 d 04 h`. A negative age, by a clock that is ahead, is `0 s`. At most 8
 * characters below 100 days.
 */
export function ageText(milliseconds: number): string {
  if (milliseconds < 0) return "0 s";
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${twoDigits(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${twoDigits(minutes % 60)} m`;
  return `${Math.floor(hours / 24)} d ${twoDigits(hours % 24)} h`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** Words of commands that people paste into a shell. Names of a cluster may be anything. */

/** As one word of a POSIX shell, which means nothing but itself. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";

const codes: Readonly<Record<Tone, string>> = { good: "32", bad: "31", warning: "33", faint: "2", strong: "1" };

/** `text` must be printable and without colours. */
export function coloured({ isColoured }: Pick<Terminal, "isColoured">, tone: Tone | undefined, text: string): string {
  return isColoured && tone !== undefined && text !== "" ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text;
}

/** JSON for stdout. It may reach a terminal, so what JSON leaves as it is but could control one is escaped. */

/** With a line end. `isLine`: on one line, for a stream of several. */
export function jsonText(value: unknown, isLine = false): string {
  const text = JSON.stringify(value, undefined, isLine ? undefined : 2);
  // JSON escapes what is below U+0020. Inside of JSON the others occur only in strings.
  const escaped = text.replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    Array.from({ length: char.length }, (_, index) => escapeUnit(char.charCodeAt(index))).join(""),
  );
  return `${escaped}\n`;
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
