/** Ages as the API server prints them in tables: `5s`, `3m10s`, `47h`, `2d3h`, `400d`. */

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Whole `unit`s and what is left in `rest`s, which is not printed when it is 0. */
function parts(seconds: number, unit: number, name: string, rest: number, restName: string): string {
  const left = Math.floor((seconds % unit) / rest);
  return `${Math.floor(seconds / unit)}${name}${left === 0 ? "" : `${left}${restName}`}`;
}

/**
 * A duration in milliseconds, coarser the longer it is. Clocks may differ by less than 2 s before it is called invalid.
 */
function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 2 * minute) return `${Math.max(0, seconds)}s`;
  if (seconds < 10 * minute) return parts(seconds, minute, "m", 1, "s");
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return parts(seconds, hour, "h", minute, "m");
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return parts(seconds, day, "d", hour, "h");
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return parts(seconds, year, "y", day, "d");
  return `${Math.floor(seconds / year)}y`;
}

/** The age of a timestamp; `<unknown>` without one. */
export function ageOf(timestamp: unknown, nowMs: number): string {
  const sinceMs = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(sinceMs) ? "<unknown>" : humanDuration(nowMs - sinceMs);
}
