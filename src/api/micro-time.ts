/**
 * Kubernetes MicroTime and Time texts. JavaScript's Date has milliseconds only, and losing the microseconds that a Go
 * component wrote would flip comparisons, so times are integers of microseconds (EpochMicros).
 */
import { type EpochMicros } from "../util/clock.ts";

const rfc3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/** RFC 3339 years have four digits; a zone can move a time beyond them, and then it could not be written again. */
const earliestMs = Date.parse("0000-01-01T00:00:00Z");
const latestMs = Date.parse("9999-12-31T23:59:59Z");

/**
 * Reads an RFC 3339 time with up to nine fractional digits (finer than microseconds is cut), or a Date, which is how
 * times come out of protobuf; undefined when it is none.
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

/** Writes a MicroTime: six fractional digits and Z, as Kubernetes does. */
export function formatMicroTime(time: EpochMicros): string {
  const micros = ((time % 1_000_000) + 1_000_000) % 1_000_000;
  const seconds = new Date((time - micros) / 1000).toISOString().slice(0, 19);
  return `${seconds}.${String(micros).padStart(6, "0")}Z`;
}
