/**
 * The PodProtectors of all cores as rows, those that need attention first, and sums over them.
 *
 * The cells of a core as the page shows them.
 */
import { epochMicrosOf } from "../../../api/micro-time.ts";
import { type ObjectKey, partsOf, protectorID, type ProtectorID } from "../../../api/object-key.ts";
import { type Clock } from "../../../util/clock.ts";
import { printable } from "../../../util/printable.ts";
import { type FleetCell, type FleetCells } from "../../fleet/cells.ts";
import { type State, states } from "../../fleet/standing.ts";
import { factsOf, type ProtectorFacts, type Tone, toneOf, urgencyOf, type WatchedProtector } from "./protector-row.ts";
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

export interface CellCard {
  readonly core: string;
  readonly cell: string;
  readonly word: string;
  readonly tone: Tone;
  /** For people: what follows from it; "" where the word says all. */
  readonly why: string;
  /** Its last beat, in epoch milliseconds of its own clock; undefined = the Lease does not tell. */
  readonly heardMs: number | undefined;
  /** Of its aggregator; "" = it does not say. */
  readonly version: string;
}

/** Pure. */
export function cellCard(core: string, { cellID, lease, glance }: FleetCell): CellCard {
  const card = (word: string, tone: Tone, why = ""): CellCard => ({
    core,
    cell: printable(cellID),
    word,
    tone,
    why,
    heardMs: lease.renewedAt === undefined ? undefined : epochMicrosOf(lease.renewedAt) / 1000,
    version: printable(lease.productVersion ?? ""),
  });
  const isSilent = glance.silentForMs !== undefined;
  if (lease.isForgotten) return card("Retiring", "note", "It is being removed from every PodProtector");
  if (isSilent && glance.isKept) return card("Silent, kept", "warn", "A person keeps its last counts in force");
  if (isSilent) return card("Silent", "bad", "Its pods do not count until it is heard again");
  if (lease.gate !== undefined) return card("Not guarded", "bad", printable(lease.gate));
  if (lease.behind !== undefined) return card("Behind", "warn", "It cannot count or write some PodProtectors");
  return card("Heard", "good");
}

/** Of a cell that PodProtectors name. `isKnown`: the Leases of the core have been read, and it has none. */
export function cardWithoutLease(core: string, cell: string, isKnown: boolean): CellCard {
  const why = "It shows no heartbeat; its last counts stay in force";
  const told = isKnown
    ? ({ word: "No Lease", tone: "warn", why } as const)
    : ({ word: "Unknown", tone: "note", why: "" } as const);
  return { core, cell, ...told, heardMs: undefined, version: "" };
}

const urgency: readonly Tone[] = ["bad", "warn", "note", "good"];

/** Of hundreds of cells only the first are on the screen. Equal ones keep their order. */
export function worstFirst(cards: readonly CellCard[]): readonly CellCard[] {
  return cards.toSorted((a, b) => urgency.indexOf(a.tone) - urgency.indexOf(b.tone));
}

/**
 * How many pods of a PodProtector were available in the last quarter of an hour: the lowest number of each 15 seconds,
 * because the lowest is what people look for. Only the times at which something changed are kept.
 */

/** Length of one slot. 60 of them fit into a row of the page, and a quarter of an hour shows how an incident began. */
export const slotMs = 15_000;
export const slotsMax = 60;

/** Of one slot: its number (epoch milliseconds / slotMs), the lowest number in it, and the number at its end. */
export type LowMark = readonly [slot: number, lowest: number, last: number];

export class LowMarks {
  /** In the order of the slots; those between two marks have the last number of the earlier one. */
  #marks: LowMark[] = [];

  /** `value` holds from `epochMs` on. A clock that went back counts as standing still. */
  record(epochMs: number, value: number): void {
    const before = this.#marks.at(-1);
    const slot = Math.max(Math.floor(epochMs / slotMs), before?.[0] ?? 0);
    if (before?.[2] === value) return;
    if (before?.[0] === slot) this.#marks[this.#marks.length - 1] = [slot, Math.min(before[1], value), value];
    // In the slot of the change, the number before it held as well.
    else this.#marks.push([slot, Math.min(before?.[2] ?? value, value), value]);
    this.#forget(slot - slotsMax);
  }

  /** At most slotsMax + 1: the first may be older than the time that is shown, and says what held at its beginning. */
  get marks(): readonly LowMark[] {
    return this.#marks;
  }

  #forget(slot: number): void {
    const firstShown = this.#marks.findIndex((mark) => mark[0] > slot);
    if (firstShown > 1) this.#marks = this.#marks.slice(firstShown - 1);
  }
}
