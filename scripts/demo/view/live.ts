/** The live view: state -> lines of a terminal. Pure. */
import { type DemoState, type RoleView, type ServiceView, secondsText, surgeOf, wrap } from "./state.ts";
import { type Style, type Tone } from "./style.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

// Wider bars carry no more information, and long lines are hard to read.
const columnsMax = 100;
const nameWidth = 12;
const numbersWidth = 34;

function toneOf({ available, floor, replicas }: ServiceView): Tone {
  if (floor === undefined) return "plain";
  if (available < floor) return "bad";
  return available === floor && available < replicas ? "warn" : "good";
}

/**
 * A bar of `width` characters for `value` of `max`, with a mark where `floor` is. A value above 0 shows at least one
 * character.
 */
function bar(style: Style, tone: Tone, width: number, value: number, max: number, floor: number | undefined): string {
  const scale = (amount: number): number => Math.min(width, Math.round((amount / Math.max(1, max)) * width));
  const filled = value > 0 ? Math.max(1, scale(value)) : 0;
  // The mark stands on the last character that the floor needs.
  const mark = floor === undefined || floor === 0 ? -1 : Math.max(1, scale(floor)) - 1;
  const { full, empty, floor: markGlyph } = style.glyphs;
  const part = (from: number, to: number): string =>
    style.paint(tone, full.repeat(Math.max(0, Math.min(to, filled) - from))) +
    style.paint("dim", empty.repeat(Math.max(0, to - Math.max(from, filled))));
  if (mark < 0) return part(0, width);
  return part(0, mark) + style.paint("strong", markGlyph) + part(mark + 1, width);
}

function serviceLines(service: ServiceView, columns: number, style: Style): string[] {
  const width = columns - nameWidth - numbersWidth - 2;
  const tone = toneOf(service);
  const { name, available, replicas, floor, lowest, cells } = service;
  const count = `${available}/${replicas}`.padStart(8);
  const limits =
    floor === undefined
      ? ""
      : `  floor ${String(floor).padStart(3)}  lowest ${String(lowest ?? available).padStart(3)}`;
  return [
    `${style.paint("strong", ` ${name}`.padEnd(nameWidth))} ` +
      `${bar(style, tone, width, available, replicas, floor)} ${style.paint(tone, count)}${limits}`,
    ...cells.map((cell) => {
      // On the scale of the service, so that the cells' bars add up to the service's.
      const ofCell = bar(style, "plain", width, cell.available, replicas, undefined);
      const surge = surgeOf(cell);
      const note = surge === 0 ? "" : style.paint("dim", `  +${surge} surge`);
      const count = `${cell.available}/${cell.replicas}`.padStart(8);
      return `${`   ${cell.name}`.padEnd(nameWidth)} ${ofCell} ${count}${note}`;
    }),
  ];
}

const roleTones: Readonly<Record<RoleView["state"], Tone>> = { ready: "good", starting: "warn", gone: "bad" };

/** `generator ● aggregator ●●● …`: processes of the same role stand together. */
function rolesLine(roles: readonly RoleView[], style: Style): string {
  if (roles.length === 0) return style.paint("bad", " Podseidon is off: no webhook is configured.");
  const marks = { ready: style.glyphs.up, starting: style.glyphs.starting, gone: style.glyphs.gone };
  const groups = ["generator", "aggregator", "update-trigger", "webhook"].map((role) => {
    const states = roles
      .filter(({ name }) => name.startsWith(role))
      .map(({ state }) => style.paint(roleTones[state], marks[state]));
    return `${role} ${states.join(" ")}`;
  });
  return ` ${groups.join("   ")}`;
}

function reviewsLine({ reviews, roles }: DemoState, style: Style): string {
  if (roles.length === 0) return " deletions   nobody is asked, so each of them goes through";
  const { admitted, refused, waiting, unanswered } = reviews;
  const numbers = [
    style.paint("good", `admitted ${admitted}`),
    style.paint("warn", `refused ${refused}`),
    `waiting ${waiting}`,
    ...(unanswered === 0 ? [] : [style.paint("bad", `no answer ${unanswered}`)]),
  ];
  return ` deletions   ${numbers.join("   ")}`;
}

/**
 * Renders a frame that fits `size`: what does not fit below is left out, oldest remarks first. At least 60 columns are
 * assumed.
 */
export function renderFrame(state: DemoState, size: Size, style: Style): readonly string[] {
  const columns = Math.max(60, Math.min(size.columns - 1, columnsMax));
  const clock = `${secondsText(state.elapsedMs)} s `;
  const title = ` Podseidon: three clusters, one floor (${style.glyphs.floor}) per service`;
  // 24 rows have room for two lines. More rows keep a third, so that nothing moves when an act needs it.
  const wordLines = size.rows > 24 ? 3 : 2;
  const words = wrap(state.act.words, columns - 2).slice(0, wordLines);
  const lines = [
    style.paint("strong", title.padEnd(columns - clock.length)) + style.paint("dim", clock),
    "",
    ` ${style.paint("strong", state.act.title)}`,
    ...Array.from({ length: wordLines }, (_, index) => ` ${words[index] ?? ""}`),
    ...state.services.flatMap((service) => ["", ...serviceLines(service, columns, style)]),
    "",
    reviewsLine(state, style),
    rolesLine(state.roles, style),
  ];
  // On 24 rows there is room for one remark, the newest; with more rows a blank line stands before the first.
  const room = Math.max(0, size.rows - lines.length);
  if (room > 1) lines.push("");
  const remarks = state.remarks.slice(-Math.max(1, room - 1)).map(({ atMs, text }) => {
    const line = ` ${secondsText(atMs).padStart(5)} s  ${text}`;
    return style.paint("dim", line.length > columns ? `${line.slice(0, columns - 1)}>` : line);
  });
  return [...lines, ...remarks].slice(0, size.rows);
}
