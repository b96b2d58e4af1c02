/** The plain view, for files and pipes: one line for each thing that happens. Pure; ASCII only. */
import { type Act, type DemoState, type Remark, type ServiceView, secondsText, surgeOf, wrap } from "./state.ts";

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

/** `search 152 (32 surge, floor 90)` */
function serviceText(service: ServiceView): string {
  const surge = surgeOf(service);
  const notes = [
    ...(surge === 0 ? [] : [`${surge} surge`]),
    ...(service.floor === undefined ? [] : [`floor ${service.floor}`]),
  ];
  return `${service.name} ${service.available}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`;
}

/**
 * Availability and floor of each service, then what became of the deletions. While clusters come up, only how far they
 * are.
 */
export function plainStatus({ elapsedMs, isStarting, services, reviews, roles }: DemoState): string {
  if (isStarting) {
    const sum = (value: (service: ServiceView) => number): number =>
      services.reduce((total, service) => total + value(service), 0);
    const counts = `${sum(({ available }) => available)} of ${sum(({ replicas }) => replicas)}`;
    return timed(elapsedMs, [`starting: ${counts} pods are available`]);
  }
  const { admitted, refused, waiting, unanswered } = reviews;
  const asked =
    `deletions: ${admitted} admitted, ${refused} refused, ${waiting} ` +
    `waiting${unanswered === 0 ? "" : `, ${unanswered} without answer`}`;
  const lines = wrap(services.map(serviceText).join("  "), columns - timeWidth);
  return timed(elapsedMs, [...lines, ...(roles.length === 0 ? [] : [asked])]);
}
