/**
 * Go's duration syntax, as upstream's flags take it: `1h2m3s`, `100ms`, `1.5s`, `-2us`, `0`. Read exactly, in whole
 * nanoseconds. Source: the documentation of Go's time.ParseDuration and Duration.String.
 */

const nanosOfUnit: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n, // U+00B5 micro sign
  μs: 1_000n, // U+03BC Greek letter mu
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const term = String.raw`(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)`;
/** As in JSON Schema. */
export const durationPattern = `^[+-]?(?:0|(?:${term})+)$`;
const wholePattern = new RegExp(durationPattern);
const termPattern = new RegExp(term, "g");

/** No sensible duration is longer; bounds the arithmetic. */
const textLengthMax = 64;

/** Milliseconds (with fractions below 1 ms), or undefined when the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  if (text.length > textLengthMax || !wholePattern.test(text)) return undefined;
  let nanos = 0n;
  for (const [, amount = "", unit = ""] of text.matchAll(termPattern)) {
    const [whole = "", fraction = ""] = amount.split(".");
    const unitNanos = nanosOfUnit[unit] ?? 0n;
    nanos += BigInt(whole === "" ? "0" : whole) * unitNanos;
    if (fraction !== "") nanos += (BigInt(fraction) * unitNanos) / 10n ** BigInt(fraction.length);
  }
  const ms = Number(nanos) / 1e6;
  return text.startsWith("-") && ms !== 0 ? -ms : ms;
}

/** The text that Go would print: `1m15s`, `100ms`, `1.5s`, `0s`. */
export function formatDuration(ms: number): string {
  const nanos = Math.round(Math.abs(ms) * 1e6);
  const sign = ms < 0 ? "-" : "";
  if (nanos === 0) return "0s";
  if (nanos < 1e3) return `${sign}${nanos}ns`;
  if (nanos < 1e6) return `${sign}${nanos / 1e3}us`;
  if (nanos < 1e9) return `${sign}${nanos / 1e6}ms`;
  const minutes = Math.floor(nanos / 60e9);
  const seconds = `${(nanos - minutes * 60e9) / 1e9}s`;
  if (minutes === 0) return `${sign}${seconds}`;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60}m${seconds}`;
}
