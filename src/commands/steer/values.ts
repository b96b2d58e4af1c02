/** Values that commands which steer are given: a UID, and how long something is to hold (`--for 2h`). */
import { parseDurationMs } from "../../config/types/duration.ts";
import { type Problem } from "../../config/reading/problem.ts";
import { formatWholeSeconds } from "../../api/micro-time.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type CommandOptions, valueOf } from "../command.ts";
import { invalid } from "../clusters/options.ts";

export function isUID(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

export interface Span {
  /** Milliseconds. */
  readonly max: number;
  /** `max` for people: "24h". */
  readonly maxText: string;
}

/** The end of --for, as RFC 3339; undefined = not given. */
export function readUntil(
  options: CommandOptions,
  now: EpochMicros,
  { max, maxText }: Span,
): string | undefined | Problem {
  const text = valueOf(options, "for");
  if (text === undefined) return undefined;
  const allowed = `a duration such as 30m or 2h, of more than 0 and up to ${maxText}`;
  const ms = parseDurationMs(text);
  if (ms === undefined) return invalid("for", text, "is no duration", allowed);
  if (ms < 1_000 || ms > max) return invalid("for", text, "is out of range", allowed);
  return formatWholeSeconds((now + ms * 1000) as EpochMicros);
}
