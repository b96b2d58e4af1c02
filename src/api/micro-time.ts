/**
 * Kubernetes' MicroTime and Time. JavaScript's Date has only milliseconds, and dropping the microseconds that a Go
 * component wrote would change comparisons. So times are integers of microseconds (EpochMicros), or texts in one form
 * (MicroTime).
 */
import { assert } from "../util/assert.ts";
import { type EpochMicros } from "../util/clock.ts";

const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** RFC 3339 years have four digits. A zone can move a time beyond them; it could not be written again. */
const earliestMs = Date.parse("0000-01-01T00:00:00Z");
const latestMs = Date.parse("9999-12-31T23:59:59Z");
/** The last one that can be written. */
export const latestTime = (latestMs * 1000) as EpochMicros;

/**
 * Reads an RFC 3339 time with up to nine fractional digits, cut to microseconds, or a Date, which is how protobuf gives
 * times. Undefined for anything else.
 */
export function parseTime(time: unknown): EpochMicros | undefined {
  if (time instanceof Date) return microsOf(time.getTime(), 0);
  if (typeof time !== "string") return undefined;
  const match = rfc3339.exec(time);
  if (match === null) return undefined;
  // Nearly all times of Kubernetes have whole seconds.
  if (match[2] === undefined) return microsOf(Date.parse(time), 0);
  const micros = Number(match[2].padEnd(6, "0").slice(0, 6));
  return microsOf(Date.parse(`${match[1]}${match[3]}`), micros);
}

function microsOf(wholeMs: number, micros: number): EpochMicros | undefined {
  if (!(wholeMs >= earliestMs && wholeMs <= latestMs)) return undefined;
  return (wholeMs * 1000 + micros) as EpochMicros;
}

declare const microTime: unique symbol;
/**
 * An RFC 3339 time as Kubernetes writes a MicroTime: UTC, six fractional digits, Z. Every moment has exactly one such
 * text, so moments compare as texts: with ===, < and >.
 */
export type MicroTime = string & { readonly [microTime]: true };

const days = [
  String.raw`(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])`,
  String.raw`(?:0[13-9]|1[0-2])-(?:29|30)`,
  String.raw`(?:0[13578]|1[02])-31`,
].join("|");
/** Nearly every time is written like this already. Days that only some years have are left to `parseTime`. */
const wellFormed = new RegExp(String.raw`^\d{4}-(?:${days})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$`);

/** The time that `parseTime` reads, in Kubernetes' own form; undefined when there is none. */
export function readMicroTime(text: string): MicroTime | undefined {
  if (wellFormed.test(text)) return text as MicroTime;
  const time = parseTime(text);
  return time === undefined ? undefined : formatMicroTime(time);
}

/** `time` must lie in the years 0 to 9999. */
export function formatMicroTime(time: EpochMicros): MicroTime {
  const micros = ((time % 1_000_000) + 1_000_000) % 1_000_000;
  const seconds = new Date((time - micros) / 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros).padStart(6, "0")}Z` as MicroTime;
}

/** As Kubernetes writes a metav1.Time, cut to seconds. `time` must lie in the years 0 to 9999. */
export function formatWholeSeconds(time: EpochMicros): string {
  return `${formatMicroTime(time).slice(0, 19)}Z`;
}

export function epochMicrosOf(time: MicroTime): EpochMicros {
  const micros = parseTime(time);
  assert(micros !== undefined, "a MicroTime is a time");
  return micros;
}
