/** How long ago something was, for people. */
import { type EpochMicros } from "../../util/clock.ts";

const minuteSeconds = 60;
const hourSeconds = 60 * minuteSeconds;
const daySeconds = 24 * hourSeconds;

/** "2 s", "4 min", "3 h", "9 d", cut to whole units; a moment that is still to come is "0 s" ago. */
export function ageText(now: EpochMicros, then: EpochMicros | undefined): string {
  return then === undefined ? "an unknown time" : durationText((now - then) / 1_000_000);
}

/** The same for a number of seconds. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 2 * minuteSeconds) return `${whole} s`;
  if (whole < 2 * hourSeconds) return `${Math.floor(whole / minuteSeconds)} min`;
  if (whole < 2 * daySeconds) return `${Math.floor(whole / hourSeconds)} h`;
  return `${Math.floor(whole / daySeconds)} d`;
}
