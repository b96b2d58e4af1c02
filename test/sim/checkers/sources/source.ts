/**
 * One source as it has been: what it asked for at any time of the last minutes, and whether it ever gave a reason
 * to let its PodProtector go.
 */
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeObject } from "../../../double/engine/object.ts";
import { type SourceRules, type Wanted, wantedOf } from "./wanted.ts";

type State =
  | {
      readonly kind: "gone";
      readonly sinceMs: number;
      /** Somebody asked for it; else it vanished. */
      readonly isDeleted: boolean;
      /** It had its finalizer, so the core has lost it, whatever else was asked for. */
      readonly wasGuarded: boolean;
      /** It had its finalizer and its PodProtector. */
      readonly wasHeld: boolean;
    }
  | {
      readonly kind: "there";
      readonly sinceMs: number;
      readonly uid: string;
      readonly isGuarded: boolean;
      readonly isTerminating: boolean;
      /** Undefined = its PodProtector is to be released. */
      readonly wanted: Wanted | undefined;
    };

export class Source {
  readonly #rules: SourceRules;
  /** Oldest first; the last one is the present one. */
  #states: State[] = [];
  /** What it asked for last, however long ago. */
  lastWanted: Wanted | undefined;

  constructor(rules: SourceRules) {
    this.#rules = rules;
  }

  /** Undefined = there was none since the world began. */
  get present(): State | undefined {
    return this.#states.at(-1);
  }

  /** The source is another one from now on. What was over before `keptFromMs` is forgotten. */
  became(object: KubeObject, nowMs: number, keptFromMs: number): void {
    const wanted = wantedOf(object, this.#rules);
    this.lastWanted = wanted ?? this.lastWanted;
    const { uid, finalizers = [], deletionTimestamp } = object.metadata;
    const isTerminating = deletionTimestamp !== undefined;
    const isGuarded = finalizers.includes(finalizer);
    this.#add({ kind: "there", sinceMs: nowMs, uid, isGuarded, isTerminating, wanted }, keptFromMs);
  }

  /** It is no longer there. */
  ended(isDeleted: boolean, nowMs: number, keptFromMs: number): void {
    const { present } = this;
    const wasGuarded = present?.kind === "there" && present.isGuarded;
    const wasHeld = wasGuarded && present.wanted !== undefined;
    this.#add({ kind: "gone", sinceMs: nowMs, isDeleted, wasGuarded, wasHeld }, keptFromMs);
  }

  /**
   * What a generator may have read that acts now, and began at `fromMs` at the earliest. Who vanished asks for what it
   * asked for before.
   */
  askedSince(fromMs: number): readonly Wanted[] {
    const states = this.#since(fromMs);
    const asked = states.flatMap((state) => (state.kind === "there" && state.wanted !== undefined ? state.wanted : []));
    const isVanished = states.some((state) => state.kind === "gone");
    return isVanished && this.lastWanted !== undefined ? [...asked, this.lastWanted] : asked;
  }

  /** There was a reason to release: it was deleted, or no longer selected. */
  gaveReasonSince(fromMs: number): boolean {
    return this.#since(fromMs).some((state) => (state.kind === "gone" ? state.isDeleted : state.wanted === undefined));
  }

  wasGuardedSince(fromMs: number): boolean {
    return this.#since(fromMs).some((state) => state.kind === "there" && (state.isGuarded || state.isTerminating));
  }

  #since(fromMs: number): readonly State[] {
    return this.#states.filter((_, index) => (this.#states[index + 1]?.sinceMs ?? Infinity) >= fromMs);
  }

  #add(state: State, keptFromMs: number): void {
    this.#states = [...this.#since(keptFromMs), state];
  }
}
