/** Where a PodProtector stands, in a few words for tables. */
import { type CellFigures } from "../../accounting/reserve/quota-figures.ts";
import { parseTime } from "../../api/micro-time.ts";
import { holdingCondition } from "../../api/v1alpha1/conditions.ts";
import { assertNever } from "../../util/assert.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { ageText, type Tone } from "../text/format.ts";
import { type ProtectorEvent, type Refusals, type Release, type SeenTombstone } from "./refusals.ts";
import { conditionOf, isWrong, type Standing, type State } from "./standing.ts";

/** `is gone and not released, so webhooks keep it in force, an Event says`. */
export function goneText({ isSaidToBeOver }: SeenTombstone): string {
  const gone = "is gone and not released, so webhooks keep it in force, an Event says";
  return isSaidToBeOver ? `${gone}; and a later one that it is over` : gone;
}

/** Cells that a line names. */
const cellsMax = 8;

/** `w1 7, w2 15 - 1, w3 silent 4 m 02 s (4)`: what each has counted, less what it has promised. */
export function cellsText({ figures }: Pick<Standing, "figures">): string {
  const { cells } = figures;
  if (cells.length === 0) return "none";
  const texts = cells.slice(0, cellsMax).map(cellText);
  return texts.join(", ") + (cells.length > cellsMax ? ` and ${cells.length - cellsMax} more` : "");
}

function cellText({ cellID, counts, silentForMs, last, said, unseen, unconfirmed }: CellFigures): string {
  const promised = unconfirmed > 0 ? ` - ${unconfirmed}` : "";
  if (silentForMs !== undefined) return `${cellID} silent ${ageText(silentForMs)} (${last}${promised})`;
  switch (counts) {
    case "in-force":
      return `${cellID} ${last}${promised}${notCounted(said, "said")}${notCounted(unseen, "unseen")}`;
    case "none":
      return `${cellID} not counted${promised}`;
    case "other-spec":
    case "lost":
    case "remade":
      return `${cellID} not counted again (${last}${promised})`;
    default:
      return assertNever(counts);
  }
}

function notCounted(pods: number | undefined, what: string): string {
  return pods === undefined ? "" : ` (${pods} ${what})`;
}

/** Callers that a line names. */
const callersMax = 3;

/** `, by runaway 240, alice 11`; empty where nobody is named. */
function callersText({ callers }: Pick<Refusals, "callers">): string {
  if (callers.length === 0) return "";
  const named = callers.slice(0, callersMax).map(({ name, count }) => `${name} ${count}`);
  const more = callers.length > callersMax ? ` and ${callers.length - callersMax} more` : "";
  return `, by ${named.join(", ")}${more}`;
}

/** What is older belongs, as a rule, to trouble that is over. Each Event stands for ten minutes itself. */
export const latelyMicros = 600_000_000;

/**
 * `251 times lately, last 12 s ago, by runaway 240, alice 11; before that 40 times, last 32 m 10 s ago, Events say`.
 * Those who asked are named of all.
 */
export function refusedText({ events, callers }: Refusals, now: EpochMicros): string {
  const isLate = ({ lastAt }: ProtectorEvent): boolean => lastAt !== undefined && now - lastAt > latelyMicros;
  const recent = events.filter((event) => !isLate(event));
  const earlier = events.filter(isLate);
  if (recent.length === 0) return `not lately, but ${timesText(earlier, "", now)}${callersText({ callers })}${said}`;
  const before = earlier.length === 0 ? "" : `; before that ${timesText(earlier, "", now)}`;
  return `${timesText(recent, " lately", now)}${callersText({ callers })}${before}${said}`;
}

const said = ", Events say";

/** `events`: the newest first. */
function timesText(events: readonly ProtectorEvent[], when: string, now: EpochMicros): string {
  const count = events.reduce((sum, event) => sum + event.count, 0);
  const lastAt = events[0]?.lastAt;
  const last = lastAt === undefined ? "" : `, last ${ageText((now - lastAt) / 1000)} ago`;
  return `${count} time${count === 1 ? "" : "s"}${when}${last}`;
}

/** `shop/deployment-web 12 s ago, an Event says. Its floor of 3 is no longer in force: deleted in shop`. */
export function releasedText({ protector, message, at }: Release, now: EpochMicros): string {
  return `${protector} ${ageText((now - at) / 1000)} ago, an Event says. ${message}`;
}

/** `dangling for 4 m 00 s: The Deployment vanished`; undefined where no condition tells more than the state does. */
export function sinceText({ protector }: Pick<Standing, "protector">, state: State, now: EpochMicros) {
  const type = conditionOf[state];
  const condition = type === undefined ? undefined : holdingCondition(protector.status?.conditions, type);
  const since = condition === undefined ? undefined : parseTime(condition.lastTransitionTime);
  if (condition === undefined || since === undefined) return undefined;
  // These two say no more than the numbers do.
  const message = state === "below floor" || state === "at floor" ? "" : condition.message;
  return `${state} for ${ageText((now - since) / 1000)}${message === "" ? "" : `: ${message}`}`;
}

export function toneOf(state: State): Tone | undefined {
  if (isWrong(state)) return "bad";
  return state === "ok" ? "good" : "warning";
}
