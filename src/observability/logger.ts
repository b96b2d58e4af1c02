/**
 * The Logger of the program: pino, with one JSON object per line, or readable lines at a terminal.
 * Whatever the fields contain, no entry looks like another: control characters are escaped.
 */
import { pino, type Logger as PinoLogger, stdSerializers } from "pino";
import { formatMicroTime } from "../api/micro-time.ts";
import { isKubeError } from "../kube/kube-client.ts";
import { type Clock } from "../util/clock.ts";
import { type LogFields, type Logger } from "../util/logger.ts";
import { asObject } from "../api/json.ts";

export interface LoggerOptions {
  /** --klog-v: `verbose(level)` writes entries up to this level. Asked each time, since it may change. */
  readonly verbosity: () => number;
  readonly format: "json" | "pretty" | "pretty-colour";
  readonly clock: Clock;
  /** Writes one complete line, including its line end. Synchronous, so that the last entry of a crash is not lost. */
  readonly write: (line: string) => void;
}

/** The printer for terminals is loaded only when it is needed. */
export async function createLogger({ verbosity, format, clock, write }: LoggerOptions): Promise<Logger> {
  const print = format === "json" ? (line: string) => line : await createHumanLines(format === "pretty-colour");
  const stream = { write: (line: string) => write(escapeRest(print(line))) };
  const options = {
    base: null,
    level: "debug",
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: shownError },
    timestamp: () => `,"time":"${formatMicroTime(clock.epochMicros())}"`,
  };
  return wrap(pino(options, stream), verbosity);
}

function wrap(target: PinoLogger, verbosity: () => number): Logger {
  return {
    error: (message, fields = {}) => target.error(fields, escapeAll(message)),
    warn: (message, fields = {}) => target.warn(fields, escapeAll(message)),
    info: (message, fields = {}) => target.info(fields, escapeAll(message)),
    verbose(level: number, message: string, fields: LogFields = {}) {
      if (level <= verbosity()) target.debug({ v: level, ...fields }, escapeAll(message));
    },
    isVerbose: (level) => level <= verbosity(),
    with: (fields) => wrap(target.child(fields), verbosity),
  };
}

/** What a cluster answers, or that it does not, is no matter of our stack, and its message says what the causes do. */
function shownError(error: unknown): unknown {
  if (!isKubeError(error)) return stdSerializers.err(error as Error);
  const { name: type, kind, code, message } = error;
  return { type, kind, ...(code !== undefined && { code }), message };
}

const escapeChar = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Escapes every character that could end a line or control a terminal. */
function escapeAll(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, escapeChar);
}

/** Escapes what JSON leaves as it is. In JSON, these characters occur only inside strings, so the line stays JSON. */
function escapeRest(line: string): string {
  return line.replace(/[\u007f-\u009f\u2028\u2029]/g, escapeChar);
}

/**
 * Log entries for a person at a terminal: time, level, message and `field=value`, in lines of 100 columns. What does
 * not fit goes on in indented lines, and values have no line breaks, so that none can look like an entry of its own. Of
 * a usual window, with a little room.
 */
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

/**
 * The priority of a log line for systemd's journal: the prefix `<N>`, which the journal reads and takes off
 * (sd-daemon(3)). So `journalctl -p warning` finds warnings of a JSON log.
 */
const priorities: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** Whether systemd has connected a file to the journal: `journalStream` is JOURNAL_STREAM of systemd.exec(5). */
export function isJournal(
  journalStream: string | undefined,
  file: { readonly dev: number; readonly ino: number },
): boolean {
  return journalStream === `${file.dev}:${file.ino}`;
}

/** `line` is one JSON object of the log, its level first. */
export function withPriority(line: string): string {
  const [, level = "info"] = /^\{"level":"(\w+)"/.exec(line) ?? [];
  return `<${priorities[level] ?? priorities["info"]}>${line}`;
}
