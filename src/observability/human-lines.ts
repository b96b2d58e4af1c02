/**
 * Log entries for a person at a terminal: time, level, message and `field=value`, in lines of 100 columns. What does
 * not fit goes on in indented lines, and values have no line breaks, so that none can look like an entry of its own.
 */
import { asObject } from "../api/json.ts";

/** Of a usual window, with a little room. */
const columns = 100;
const indent = "    ";
/** "[12:34:56.789Z] ERROR: ". */
const prefixColumns = 23;
/** Shown before the message, or as part of it. */
const shownElsewhere = new Set(["level", "time", "msg"]);

/** Turns an entry as JSON into lines, with their line end. The printer is loaded only when it is needed. */
export async function createHumanLines(colorize: boolean): Promise<(json: string) => string> {
  const { prettyFactory } = await import("pino-pretty");
  return prettyFactory({
    colorize,
    hideObject: true,
    // Fields that the printer would show in a way of its own.
    ignore: "pid,hostname,name,caller",
    messageFormat: (entry) => linesOf(entry),
    translateTime: "UTC:HH:MM:ss.l'Z'",
  });
}

function linesOf(entry: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(entry).filter(([name]) => !shownElsewhere.has(name));
  const texts = fields.flatMap(([name, value]) => wordsOf(name, value));
  const lines: string[] = [];
  let line = String(entry["msg"]);
  let width = columns - prefixColumns;
  // A text that is longer than a line is broken like any other.
  for (const word of texts.flatMap((text) => text.split(" "))) {
    if (line.length + 1 + word.length <= width) line += ` ${word}`;
    else {
      lines.push(line);
      line = `${indent}${word}`;
      width = columns;
    }
  }
  return [...lines, line].join("\n");
}

/** An object has a word for each of its fields; an error its message, and if it is a mistake of ours, its stack. */
function wordsOf(name: string, value: unknown): readonly string[] {
  const object = asObject(value);
  if (object === undefined) return [`${wordOf(name)}=${wordOf(value)}`];
  const { message, stack } = object;
  if (name !== "err" || typeof message !== "string")
    return Object.entries(object).map(([key, field]) => `${wordOf(name)}.${wordOf(key)}=${wordOf(field)}`);
  const words = [`${name}=${wordOf(message)}`];
  return typeof stack === "string" ? [...words, `stack=${wordOf(stack)}`] : words;
}

/** As it is, if it has no space, no quotes, and nothing that controls a terminal; else as JSON. */
function wordOf(value: unknown): string {
  const isPlain = typeof value === "string" && /^[!#-<>-~]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}
