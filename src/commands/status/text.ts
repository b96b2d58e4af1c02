/**
 * One look at the cores, as text.
 *
 * What `status` says first when somebody has deleted the CRD of PodProtectors: the table below it may look well, since
 * finalizers keep the objects for a while (docs/disasters.md#the-crd-is-lost).
 *
 * Which PodProtectors `status` shows, and in which order: what is wrong first.
 */
import { objectKey } from "../../api/object-key.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";
import { type Terminal } from "../command.ts";
import { unwrittenText } from "../fleet/cells.ts";
import { isGeneratorAway, waitingText } from "../fleet/held-changes.ts";
import { type CoreLook } from "../fleet/look.ts";
import { type InvalidProtector } from "../fleet/protectors.ts";
import { forcedOf, type Refusals, refusalsOf, releasesOf } from "../fleet/refusals.ts";
import { differingVersions } from "../fleet/replicas.ts";
import { isWrong, type Standing, type State, states } from "../fleet/standing.ts";
import { cellsText, goneText, latelyMicros, refusedText, releasedText, sinceText, toneOf } from "../fleet/wording.ts";
import { ageText, coloured, type Tone, wrapped } from "../text/format.ts";
import { type Column, type Row, shortened, table } from "../text/table.ts";
import { cellLines, cellsTable, isCellWrong } from "./cell-lines.ts";

export interface StatusView {
  /** Undefined = all. */
  readonly namespace: string | undefined;
  readonly showsAll: boolean;
  readonly program: string;
  readonly terminal: Terminal;
}

/** So wide a terminal shows the cells in a column of their own. */
const wideColumns = 110;
/** Of these, for all other columns but the names and the cells, which share the rest. */
const figuresColumns = 56;
/** Workloads that are named, where many wait for a generator. */
const waitingMax = 5;
/** Of those that were released lately. */
const releasesMax = 5;
/** Of the name of an aggregator, a namespace and the like in a line. */
const nameLengthMax = 40;

/** Whether somebody has to do something. What could not be read is not known to be well. */
export function isAnythingWrong(look: CoreLook): boolean {
  return (
    look.unread.length > 0 ||
    look.definition === "terminating" ||
    look.definition === "gone" ||
    look.tombstones.some(({ isSaidToBeOver }) => !isSaidToBeOver) ||
    look.waiting.length > 0 ||
    look.cells?.unwrittenForMs !== undefined ||
    (look.held?.held.length ?? 0) > 0 ||
    cellLines(look).some(({ state }) => isCellWrong(state)) ||
    areWrong(chosenLines(look.protectors?.standings ?? [], look.protectors?.unusable ?? [], false))
  );
}

export function statusText(looks: readonly CoreLook[], view: StatusView): string {
  return looks
    .map((look) => {
      const title = looks.length === 1 ? "" : `${coloured(view.terminal, "strong", `core ${look.core}`)}\n`;
      const parts = [
        lostDefinitionText(look, view),
        protectorsPart(look, view),
        cellsTable(look, view.terminal),
        linesPart(look, view),
      ];
      return title + parts.filter((part) => part !== "").join("\n");
    })
    .join("\n");
}

function protectorsPart(look: CoreLook, view: StatusView): string {
  const { protectors, events = [], at } = look;
  if (protectors === undefined) return "";
  const shown = chosenLines(protectors.standings, protectors.unusable, view.showsAll);
  if (shown.counts.size === 0) {
    return `No PodProtectors${view.namespace === undefined ? "" : ` in namespace ${view.namespace}`}.\n`;
  }
  const isWide = view.terminal.columns >= wideColumns;
  const refusals = refusalsOf(events);
  const forced = forcedOf(events);
  const columns: Column[] = [
    { title: "PROTECTOR", shrinksTo: 12 },
    { title: "MUST STAY", align: "right" },
    { title: "AVAILABLE", align: "right" },
    { title: "PROMISED", align: "right" },
    { title: "FREE", align: "right" },
    ...(isWide ? [{ title: "CELLS" }] : []),
    { title: "STATE" },
  ];
  const rows = shown.lines.map((line) => rowOf(line, { isWide, refusals, forced, at, view }));
  const body = rows.length === 0 ? "" : `${table(columns, rows, view.terminal)}\n`;
  return `${body}${countsText(shown, view)}`;
}

interface RowContext {
  readonly isWide: boolean;
  readonly refusals: ReadonlyMap<string, Refusals>;
  readonly forced: ReadonlyMap<string, Refusals>;
  readonly at: EpochMicros;
  readonly view: StatusView;
}

function rowOf(line: Line, context: RowContext): Row {
  const { isWide, refusals, forced, at, view } = context;
  const name = view.namespace === undefined ? keyOf(line) : placeOf(line).name;
  if (line.kind === "unusable") {
    const { reason } = line.invalid;
    const blanks = Array<string>(4 + Number(isWide)).fill("-");
    return {
      cells: [name, ...blanks, { text: "unusable", tone: "bad" }],
      under: [`invalid, so deletions of its pods are refused: ${reason}`],
    };
  }
  const { standing } = line;
  const { mustStay, available, promised, free, figures } = standing;
  const cells = cellsText(standing);
  const isBeside = isWide && cells.length <= Math.floor((view.terminal.columns - figuresColumns) / 2);
  const key = objectKey(standing.namespace, standing.name);
  const events = [...eventsRemark("refused", refusals.get(key), at), ...eventsRemark("forced", forced.get(key), at)];
  return {
    cells: [
      name,
      String(mustStay),
      String(available),
      String(promised),
      String(free ?? "?"),
      ...(isWide ? [isBeside ? cells : `${figures.cells.length} cells`] : []),
      { text: standing.states[0], tone: toneOf(standing.states[0]) },
    ],
    under: remarksOn(standing, { events, cells: isBeside ? undefined : cells, at }),
  };
}

/** What a person wants to know next, of one that is not well. */
function remarksOn(
  standing: Standing,
  { events, cells, at }: { events: readonly string[]; cells: string | undefined; at: EpochMicros },
): readonly string[] {
  const [state, ...others] = standing.states;
  const since = sinceText(standing, state, at);
  if (state === "ok" || state === "shadow") return events;
  return [
    ...(since === undefined ? [] : [since]),
    ...(others.length === 0 ? [] : [`also: ${others.join(", ")}`]),
    ...(cells === undefined ? [] : [`cells: ${cells}`]),
    ...events,
  ];
}

function eventsRemark(what: string, told: Refusals | undefined, at: EpochMicros): readonly string[] {
  return told === undefined ? [] : [`${what} ${refusedText(told, at)}`];
}

/** `61 PodProtectors: 1 below floor, 14 undrainable, 46 ok`. */
function countsText({ counts, lines, left }: Shown, { terminal, program }: StatusView): string {
  const total = lines.length + left;
  const texts = Array.from(counts, ([state, count]) =>
    coloured(terminal, countTone(state), unbroken(`${count} ${state}`)),
  );
  const hidden = left === 0 ? "" : ` ${unbroken(`(${left} not shown: ${program} status --all)`)}`;
  const text = `${total} PodProtector${total === 1 ? "" : "s"}: ${texts.join(", ")}${hidden}`;
  return `${wrapped(text, terminal.columns, "  ").join("\n").replaceAll(hardBlank, " ")}\n`;
}

const hardBlank = "\u00a0";

/** No line is broken within it. */
function unbroken(text: string): string {
  return text.replaceAll(" ", hardBlank);
}

function countTone(state: State): Tone | undefined {
  return isWrong(state) ? "bad" : undefined;
}

/** Webhooks and generator, held changes, what is gone, what cannot be read. */
function linesPart(look: CoreLook, { terminal, program }: StatusView): string {
  const { held, cells, replicas = [], tombstones, waiting, events = [], at, unread } = look;
  const lines: { readonly label: string; readonly text: string; readonly tone?: Tone }[] = [];
  for (const { name, ready, wanted } of replicas) {
    const tone = ready < wanted ? "bad" : undefined;
    lines.push({ label: "replicas", text: `${name}: ${ready} of ${wanted} ready`, ...(tone && { tone }) });
  }
  const nobody = cells && unwrittenText(cells);
  if (nobody !== undefined) lines.push({ label: "core", text: nobody, tone: "bad" });
  if (cells?.observer !== undefined) {
    const { glance, lease } = cells.observer;
    const heard = glance.heardAgoMs === undefined ? "never heard" : `heard ${ageText(glance.heardAgoMs)} ago`;
    const isLate = isGeneratorAway(glance, cells.unwrittenForMs);
    const who = shortened(lease.holderIdentity, nameLengthMax);
    const text = `${who} ${heard}${isLate ? ", late: does one lead?" : ""}`;
    lines.push({ label: "generator", text, ...(isLate && { tone: "bad" as const }) });
  }
  const versions = cells === undefined ? undefined : differingVersions(cells);
  if (versions !== undefined) {
    const text = `differ: ${versions}; see ${program} check`;
    lines.push({ label: "versions", text, tone: "warning" });
  }
  for (const { cause, since } of held?.held ?? []) {
    const text = `changes of cause ${cause} for ${ageText((at - since) / 1000)}; see ${program} approve`;
    lines.push({ label: "held", text, tone: "bad" });
  }
  for (const tombstone of tombstones) {
    const { protector, uid, isSaidToBeOver } = tombstone;
    const text = `${protector} (UID ${uid}) ${goneText(tombstone)}; see ${program} release`;
    lines.push({ label: "gone", text, ...(!isSaidToBeOver && { tone: "bad" as const }) });
  }
  for (const workload of waiting.slice(0, waitingMax)) {
    lines.push({ label: "waiting", text: waitingText(workload, at), tone: "bad" });
  }
  if (waiting.length > waitingMax) {
    lines.push({ label: "waiting", text: `and ${waiting.length - waitingMax} more workloads`, tone: "bad" });
  }
  const releases = releasesOf(events, (at - latelyMicros) as EpochMicros);
  for (const release of releases.slice(0, releasesMax))
    lines.push({ label: "released", text: releasedText(release, at) });
  if (releases.length > releasesMax)
    lines.push({ label: "released", text: `and ${releases.length - releasesMax} more in the last ten minutes` });
  for (const text of unread) lines.push({ label: "unread", text, tone: "warning" });
  const width = Math.max(0, ...lines.map(({ label }) => label.length)) + 2;
  return lines
    .flatMap(({ label, text, tone }) =>
      wrapped(`${label.padEnd(width)}${printable(text)}`, terminal.columns, " ".repeat(width)).map(
        (line) => `${line.slice(0, width)}${coloured(terminal, tone, line.slice(width))}\n`,
      ),
    )
    .join("");
}

/** "" when it is there, or not known to be lost. Ends with a line end. */
export function lostDefinitionText(
  { definition }: Pick<CoreLook, "definition">,
  { terminal, program }: { readonly terminal: Pick<Terminal, "columns" | "isColoured">; readonly program: string },
): string {
  if (definition !== "terminating" && definition !== "gone") return "";
  const [what, command] =
    definition === "gone"
      ? ["The CRD of PodProtectors is gone, and all PodProtectors with it", `${program} restore crd --file=FILE`]
      : ["The CRD of PodProtectors has been deleted; finalizers alone keep what is left", `${program} restore crd`];
  const cure = `${what}. Do not restart webhooks. Stop the generator, leave it stopped, and then:`;
  const lines = wrapped(cure, terminal.columns, "  ").map((line) => coloured(terminal, "bad", line));
  // On a line of its own, which is not broken, so that it can be copied.
  return `${[...lines, `  ${command}`].join("\n")}\n`;
}

/** What can be shown of one. */
export type Line =
  | { readonly kind: "standing"; readonly state: State; readonly standing: Standing }
  | { readonly kind: "unusable"; readonly state: "unusable"; readonly invalid: InvalidProtector };

/** A fleet of up to so many is shown whole: it fits on a screen. */
const shownWholeMax = 25;
/** Those that are well, or as somebody wants them, are only counted in a larger fleet. */
const quiet: ReadonlySet<State> = new Set<State>(["ok", "shadow", "unprotected"]);
/** Of those with something to say in a larger fleet; more are only counted. */
const shownMax = 50;

export interface Shown {
  readonly lines: readonly Line[];
  /** How many are in each state, the worst first; every one counts once, in its worst state. */
  readonly counts: ReadonlyMap<State, number>;
  /** Of `counts`, how many are not in `lines`. */
  readonly left: number;
}

export function chosenLines(
  standings: readonly Standing[],
  unusable: readonly InvalidProtector[],
  showsAll: boolean,
): Shown {
  const all: Line[] = [
    ...unusable.map((invalid): Line => ({ kind: "unusable", state: "unusable", invalid })),
    ...standings.map((standing): Line => ({ kind: "standing", state: standing.states[0], standing })),
  ];
  const counts = new Map<State, number>();
  for (const state of states) {
    const count = all.filter((line) => line.state === state).length;
    if (count > 0) counts.set(state, count);
  }
  const sorted = all.sort((a, b) => rank(a) - rank(b) || compare(keyOf(a), keyOf(b)));
  const lines =
    showsAll || all.length <= shownWholeMax
      ? sorted
      : sorted.filter(({ state }) => !quiet.has(state)).slice(0, shownMax);
  return { lines, counts, left: all.length - lines.length };
}

/** Whether one of them needs somebody. */
export function areWrong({ counts }: Pick<Shown, "counts">): boolean {
  return [...counts.keys()].some(isWrong);
}

function rank({ state }: Line): number {
  return states.indexOf(state);
}

function placeOf(line: Line): { readonly namespace: string; readonly name: string } {
  return line.kind === "unusable" ? line.invalid : line.standing;
}

/** `namespace/name`. */
export function keyOf(line: Line): string {
  const { namespace, name } = placeOf(line);
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
