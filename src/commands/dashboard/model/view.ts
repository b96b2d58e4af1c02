/**
 * What one browser looks at: a page of the rows that it asks for, and what has changed in it since the last update. So
 * a fleet of 10,000 PodProtectors costs a browser as little as one of 50.
 */
import { type DashboardState, type HeldCause, type Problem, type Scope } from "./dashboard-state.ts";
import {
  cardWithoutLease,
  type CellCard,
  type CellSum,
  type FleetQuery,
  type Row,
  type StateSum,
  worstFirst,
} from "./fleet.ts";
import { type TimelineEntry } from "./timeline.ts";

/** A screen or two, and 50 kB. */
const rowsPerPage = 50;
/** Entries of the timeline that are sent unless more are asked for. */
export const entriesDefault = 60;

export interface ViewQuery extends FleetQuery {
  /** From 1 on; one that is too large shows the last page. */
  readonly page: number;
  /** How many entries of the timeline. */
  readonly entries: number;
  /** Of the timeline: the browser has all up to this change. 0 = none. */
  readonly entriesSince: number;
}

/** Absent parts have not changed. */
export interface Update {
  /** What the browser has is not to be kept, except for the timeline. */
  readonly isWhole: boolean;
  /** Of this process, in epoch milliseconds. */
  readonly nowMs: number;
  readonly scope?: Scope;
  readonly isComplete?: boolean;
  readonly sums?: {
    readonly protectors: number;
    readonly refused: number;
    readonly byState: readonly StateSum[];
  };
  readonly cells?: readonly (CellCard & CellSum)[];
  readonly held?: readonly HeldCause[];
  readonly problems?: readonly Problem[];
  readonly list?: {
    readonly matching: number;
    readonly page: number;
    readonly pages: number;
    readonly order: readonly string[];
  };
  /** Those of `list.order` that are new or have changed. */
  readonly rows?: readonly Row[];
  readonly timeline?: { readonly kept: number; readonly entries: readonly TimelineEntry[] };
}

type Part = Exclude<keyof Update, "isWhole" | "nowMs" | "rows" | "timeline">;

export class View {
  readonly #state: DashboardState;
  readonly #query: ViewQuery;
  readonly #sentParts = new Map<Part, string>();
  readonly #sentRows = new Map<string, string>();
  #sentChange: number;
  #hasBegun = false;

  constructor(state: DashboardState, query: ViewQuery) {
    this.#state = state;
    this.#query = query;
    this.#sentChange = query.entriesSince;
  }

  /** Number of the newest change of the timeline that was sent. */
  get sentChange(): number {
    return this.#sentChange;
  }

  /** What is to be sent; undefined = nothing has changed since the last call. */
  update(nowMs: number): Update | undefined {
    const state = this.#state;
    const { protectors, byState, cells } = state.fleet.sums();
    const { rows, list } = this.#list();
    const parts = {
      scope: state.scope,
      isComplete: state.isComplete,
      sums: { protectors, byState, refused: state.timeline.refused },
      cells: this.#cells(cells),
      held: state.held,
      problems: state.problems,
      list,
    };
    const update: Update = {
      isWhole: !this.#hasBegun,
      nowMs,
      ...this.#changedParts(parts),
      ...this.#changedRows(rows),
      ...this.#newEntries(),
    };
    this.#hasBegun = true;
    return update.isWhole || Object.keys(update).length > 2 ? update : undefined;
  }

  /** Those with a Lease, and others that count pods. */
  #cells(sums: ReadonlyMap<string, CellSum>): NonNullable<Update["cells"]> {
    const state = this.#state;
    const none: CellSum = { available: 0, promised: 0 };
    const keyOf = ({ core, cell }: Pick<CellCard, "core" | "cell">): string => `${core}\n${cell}`;
    const leased = new Set(state.cards.map((card) => keyOf(card)));
    const others = Array.from(sums.keys()).filter((key) => !leased.has(key));
    const cards = others.sort().map((key) => {
      const [core = "", cell = ""] = key.split("\n");
      return cardWithoutLease(core, cell, state.hasCards(core));
    });
    return worstFirst([...state.cards, ...cards]).map((card) => ({ ...card, ...(sums.get(keyOf(card)) ?? none) }));
  }

  #list(): { readonly rows: readonly Row[]; readonly list: NonNullable<Update["list"]> } {
    const { fleet } = this.#state;
    const { page: asked } = this.#query;
    const found = fleet.rows(this.#query, (asked - 1) * rowsPerPage, rowsPerPage);
    const pages = Math.max(1, Math.ceil(found.matching / rowsPerPage));
    const page = Math.min(asked, pages);
    const rows = page === asked ? found.rows : fleet.rows(this.#query, (page - 1) * rowsPerPage, rowsPerPage).rows;
    return { rows, list: { matching: found.matching, page, pages, order: rows.map(({ id }) => id) } };
  }

  #changedParts(parts: Required<Pick<Update, Part>>): Partial<Pick<Update, Part>> {
    const changed = (Object.entries(parts) as [Part, unknown][]).filter(([part, value]) => {
      const text = JSON.stringify(value);
      if (this.#sentParts.get(part) === text) return false;
      this.#sentParts.set(part, text);
      return true;
    });
    return Object.fromEntries(changed);
  }

  #changedRows(rows: readonly Row[]): Pick<Update, "rows"> {
    const before = new Map(this.#sentRows);
    this.#sentRows.clear();
    const changed = rows.filter((row) => {
      const text = JSON.stringify(row);
      this.#sentRows.set(row.id, text);
      return before.get(row.id) !== text;
    });
    return changed.length === 0 ? {} : { rows: changed };
  }

  #newEntries(): Pick<Update, "timeline"> {
    const { timeline } = this.#state;
    if (timeline.change === this.#sentChange) return {};
    const entries = timeline.entries(this.#query.entries, this.#sentChange);
    this.#sentChange = timeline.change;
    return { timeline: { kept: timeline.size, entries } };
  }
}
