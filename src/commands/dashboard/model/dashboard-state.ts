/** All that the page shows, in the memory of this process, and a way to wait for the next change of it. */
import { type Clock } from "../../../util/clock.ts";
import { type CellCard } from "./fleet.ts";
import { Fleet } from "./fleet.ts";
import { Timeline } from "./timeline.ts";

/** A cause whose changes the generator holds until a person approves them. */
export interface HeldCause {
  readonly core: string;
  readonly cause: string;
  readonly sinceMs: number;
}

/** What cannot be read, so that the page shows less, or something old. */
export interface Problem {
  readonly core: string;
  /** For people: what is missing on the page, why, and what to ask for. */
  readonly text: string;
}

/** What is looked at. */
export interface Scope {
  readonly cores: readonly string[];
  /** Undefined = all. */
  readonly namespace: string | undefined;
}

export class DashboardState {
  readonly scope: Scope;
  readonly timeline = new Timeline();
  readonly fleet: Fleet;
  readonly #clock: Clock;
  readonly #cards = new Map<string, readonly CellCard[]>();
  readonly #held = new Map<string, readonly HeldCause[]>();
  /** By core and what is watched. */
  readonly #problems = new Map<string, Problem>();
  /** What a core has not delivered yet. */
  readonly #awaited = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #version = 0;

  constructor(clock: Clock, scope: Scope) {
    this.scope = scope;
    this.#clock = clock;
    this.fleet = new Fleet(clock, (id) => this.timeline.refusalsOf(id));
  }

  get version(): number {
    return this.#version;
  }

  get cards(): readonly CellCard[] {
    return [...this.#cards.values()].flat();
  }

  /** Whether the Leases of a core have been read. */
  hasCards(core: string): boolean {
    return this.#cards.has(core);
  }

  get held(): readonly HeldCause[] {
    return [...this.#held.values()].flat();
  }

  get problems(): readonly Problem[] {
    return [...this.#problems.values()];
  }

  /** The first lists are complete, or have failed and say so. */
  get isComplete(): boolean {
    return this.#awaited.size === 0;
  }

  setCards(core: string, cards: readonly CellCard[]): void {
    this.#cards.set(core, cards);
    this.changed();
  }

  setHeld(core: string, held: readonly HeldCause[]): void {
    this.#held.set(core, held);
    this.changed();
  }

  await(what: string): void {
    this.#awaited.add(what);
  }

  arrived(what: string): void {
    if (this.#awaited.delete(what)) this.changed();
  }

  /** `text` undefined = it can be read (again). */
  setProblem(core: string, what: string, text: string | undefined): void {
    const key = `${core}/${what}`;
    if (this.#problems.get(key)?.text === text) return;
    if (text === undefined) this.#problems.delete(key);
    else this.#problems.set(key, { core, text });
    this.changed();
  }

  /** Fleet or timeline have changed. */
  changed(): void {
    this.#version++;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Resolves when the version is another one than `version`, after `waitMs` at the latest, and at an abort. */
  whenChanged(version: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (version !== this.#version || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      const timer = this.#clock.setTimer(waitMs, wake);
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }
}
