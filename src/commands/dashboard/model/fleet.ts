/** The PodProtectors of all cores as rows, those that need attention first, and sums over them. */
import { type ObjectKey, partsOf, protectorID, type ProtectorID } from "../../../api/object-key.ts";
import { type Clock } from "../../../util/clock.ts";
import { type LowMark, LowMarks } from "./low-marks.ts";
import { type FleetCells } from "../../fleet/cells.ts";
import { type State, states } from "../../fleet/standing.ts";
import { factsOf, type ProtectorFacts, type WatchedProtector } from "./protector-row.ts";
import { type Tone, toneOf, urgencyOf } from "./row-state.ts";
import { type Refusals } from "./timeline.ts";

export interface Row extends ProtectorFacts {
  readonly id: ProtectorID;
  readonly core: string;
  readonly namespace: string;
  readonly name: string;
  readonly lows: readonly LowMark[];
  /** Undefined = none in the Events that the core keeps. */
  readonly refusals: Refusals | undefined;
}

interface Entry {
  readonly id: ProtectorID;
  readonly core: string;
  watched: WatchedProtector;
  facts: ProtectorFacts;
  readonly lows: LowMarks;
  /** What is searched, in lower case. */
  text: string;
  /** Rows are shown in the order of these texts. */
  place: string;
}

/** What people may ask for. */
export interface FleetQuery {
  /** Words that must all be found in the names or states; "" = all rows. */
  readonly words: string;
  /** One of the states of a row; undefined = any. */
  readonly state: State | undefined;
}

/** Pods of one cell over all rows. */
export interface CellSum {
  readonly available: number;
  readonly promised: number;
}

export interface StateSum {
  readonly name: State;
  readonly tone: Tone;
  readonly count: number;
}

export interface FleetSums {
  readonly protectors: number;
  /** Rows that have the state, as the most urgent or besides; the most urgent state first. */
  readonly byState: readonly StateSum[];
  /** By core, a line feed and cell. */
  readonly cells: ReadonlyMap<string, CellSum>;
}

/** There even when no row has them: people look for them first. */
const alwaysShown: ReadonlySet<State> = new Set<State>(["below floor", "at floor", "ok"]);

/** More refusals than anybody counts: they are compared as texts of one length. */
const refusalsMax = 999_999;

export class Fleet {
  readonly #clock: Clock;
  readonly #entries = new Map<ProtectorID, Entry>();
  readonly #refusalsOf: (id: ProtectorID) => Refusals | undefined;
  /** Undefined = to be sorted again. */
  #sorted: readonly Entry[] | undefined;
  #sums: FleetSums | undefined;

  constructor(clock: Clock, refusalsOf: (id: ProtectorID) => Refusals | undefined) {
    this.#clock = clock;
    this.#refusalsOf = refusalsOf;
  }

  set(core: string, watched: WatchedProtector, cells: FleetCells | undefined): void {
    const id = protectorID(core, watched.key);
    const known = this.#entries.get(id);
    const facts = factsOf(watched, cells);
    const entry = known ?? { id, core, watched, facts, lows: new LowMarks(), text: "", place: "" };
    Object.assign(entry, { watched, facts, text: searchedText(id, facts) });
    this.#entries.set(id, entry);
    if (facts.figures !== undefined) entry.lows.record(this.#clock.epochMicros() / 1000, facts.figures.available);
    this.#placed(entry);
  }

  delete(core: string, key: ObjectKey): void {
    if (!this.#entries.delete(protectorID(core, key))) return;
    this.#sorted = undefined;
    this.#sums = undefined;
  }

  /** Other cells of the core are silent now. */
  cellsChanged(core: string, cells: FleetCells): void {
    for (const entry of this.#entries.values()) if (entry.core === core) this.set(core, entry.watched, cells);
  }

  refusalsChanged(id: ProtectorID): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) this.#placed(entry);
  }

  /** The rows from `start` on, at most `count`, and how many there are. */
  rows(query: FleetQuery, start: number, count: number): { readonly rows: readonly Row[]; readonly matching: number } {
    this.#sorted ??= [...this.#entries.values()].sort((a, b) => (a.place < b.place ? -1 : 1));
    const words = query.words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = this.#sorted.filter(
      ({ text, facts }) =>
        (query.state === undefined || facts.states.some(({ name }) => name === query.state)) &&
        words.every((word) => text.includes(word)),
    );
    return { rows: found.slice(start, start + count).map((entry) => this.#rowOf(entry)), matching: found.length };
  }

  sums(): FleetSums {
    this.#sums ??= sumsOf(this.#entries.values());
    return this.#sums;
  }

  #rowOf({ id, core, watched, facts, lows }: Entry): Row {
    return { id, core, ...partsOf(watched.key), ...facts, lows: lows.marks, refusals: this.#refusalsOf(id) };
  }

  #placed(entry: Entry): void {
    this.#sums = undefined;
    const { count = 0 } = this.#refusalsOf(entry.id) ?? {};
    const urgency = String(urgencyOf(entry.facts.states[0].name)).padStart(2, "0");
    const refused = String(refusalsMax - Math.min(count, refusalsMax)).padStart(6, "0");
    const { namespace, name } = partsOf(entry.watched.key);
    const place = [urgency, refused, namespace, name, entry.core].join("\n");
    if (place === entry.place) return;
    entry.place = place;
    this.#sorted = undefined;
  }
}

function searchedText(id: ProtectorID, { workload, states, figures }: ProtectorFacts): string {
  const cells = figures?.cells.map(({ cell }) => cell) ?? [];
  return [id, workload, ...states.map(({ name }) => name), ...cells].join(" ").toLowerCase();
}

function sumsOf(entries: Iterable<Entry>): FleetSums {
  let protectors = 0;
  const counts = new Map<State, number>();
  const cells = new Map<string, CellSum>();
  for (const { core, facts } of entries) {
    protectors++;
    for (const { name } of facts.states) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const { cell, available, promised } of facts.figures?.cells ?? []) {
      const key = `${core}\n${cell}`;
      const sum = cells.get(key) ?? { available: 0, promised: 0 };
      cells.set(key, { available: sum.available + available, promised: sum.promised + promised });
    }
  }
  const shown = states.filter((name) => counts.has(name) || alwaysShown.has(name));
  const byState = shown.map((name) => ({ name, tone: toneOf(name), count: counts.get(name) ?? 0 }));
  return { protectors, byState, cells };
}
