/** The plain view, for files and pipes: one line for each thing that happens. Pure; ASCII only. */
import { type Act, type DemoState, type Remark, secondsText, wrap } from "./state.ts";

const columns = 80;
const timeWidth = 9;

function timed(atMs: number, lines: readonly string[]): string {
  const time = `${secondsText(atMs).padStart(6)} s `;
  return lines.map((line, index) => `${index === 0 ? time : " ".repeat(timeWidth)}${line}`).join("\n");
}

/** The heading of an act. */
export function plainAct(atMs: number, { title, words }: Act): string {
  return `\n${timed(atMs, [title, ...wrap(words, columns - timeWidth)])}`;
}

export function plainRemark({ atMs, text }: Remark): string {
  return timed(atMs, wrap(text, columns - timeWidth));
}

/** Availability and floor of each service, then what became of the deletions. */
export function plainStatus({ elapsedMs, services, reviews, roles }: DemoState): string {
  const counts = services.map(
    ({ name, available, floor }) => `${name} ${available}${floor === undefined ? "" : ` (floor ${floor})`}`,
  );
  const { admitted, refused, waiting, unanswered } = reviews;
  const asked =
    `deletions: ${admitted} admitted, ${refused} refused, ${waiting} ` +
    `waiting${unanswered === 0 ? "" : `, ${unanswered} without answer`}`;
  return timed(elapsedMs, [counts.join("  "), ...(roles.length === 0 ? [] : [asked])]);
}
