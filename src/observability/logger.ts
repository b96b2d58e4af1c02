/**
 * The Logger of the program: pino, with one JSON object per line, or readable lines at a terminal (human-lines.ts).
 * Whatever the fields contain, no entry looks like another: control characters are escaped.
 */
import { pino, type Logger as PinoLogger, stdSerializers } from "pino";
import { formatMicroTime } from "../api/micro-time.ts";
import { isKubeError } from "../kube/kube-client.ts";
import { type Clock } from "../util/clock.ts";
import { type LogFields, type Logger } from "../util/logger.ts";
import { createHumanLines } from "./human-lines.ts";

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
