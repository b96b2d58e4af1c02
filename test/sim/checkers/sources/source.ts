/**
 * One source as it has been: what it asked for at any time of the last minutes, and whether it ever gave a reason
 * to let its PodProtector go.
 */
import { finalizer } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeObject } from "../../../double/engine/object.ts";
import { kindOf, ofBudgets } from "./kinds.ts";
import { type Wanted } from "./wanted.ts";

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
      readonly object: KubeObject;
      /** A budget needs no finalizer. */
      readonly isGuarded: boolean;
      readonly isTerminating: boolean;
      /** Undefined = its PodProtector is to be released. */
      readonly wanted: Wanted | undefined;
    };

const nothing: Wanted = { minAvailable: undefined, minReadySeconds: undefined, selector: undefined };

export class Source {
  /** Oldest first; the last one is the present one. */
  #states: State[] = [];
  /** What it asked for last, however long ago, as far as it was known. */
  lastWanted: Wanted | undefined;
  /** As it was last there. */
  lastObject: KubeObject | undefined;

  /** Undefined = there was none since the world began. */
  get present(): State | undefined {
    return this.#states.at(-1);
  }

  /** It is another one from now on, or asks for something else. What was over before `keptFromMs` is forgotten. */
  became(object: KubeObject, wanted: Wanted | undefined, nowMs: number, keptFromMs: number): void {
    this.lastObject = object;
    if (wanted !== undefined) this.lastWanted = merged(wanted, this.lastWanted ?? nothing);
    const { finalizers = [], deletionTimestamp } = object.metadata;
    const isTerminating = deletionTimestamp !== undefined;
    const isGuarded = finalizers.includes(finalizer) || kindOf(object) === ofBudgets;
    this.#add({ kind: "there", sinceMs: nowMs, object, isGuarded, isTerminating, wanted }, keptFromMs);
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
   * asked for before, and so does who asks for what nobody knows.
   */
  askedSince(fromMs: number): readonly Wanted[] {
    const states = this.#since(fromMs);
    const asked = states.flatMap((state) => (state.kind === "there" && state.wanted !== undefined ? state.wanted : []));
    const isOpen = states.some((state) => state.kind === "gone") || this.isUnknownSince(fromMs);
    return isOpen && this.lastWanted !== undefined ? [...asked, this.lastWanted] : asked;
  }

  /** Nobody knew what it asked for. */
  isUnknownSince(fromMs: number): boolean {
    return this.#since(fromMs).some(
      (state) => state.kind === "there" && Object.values(state.wanted ?? {}).includes(undefined),
    );
  }

  /** As it was there; who is gone is what it was last. */
  objectsSince(fromMs: number): readonly KubeObject[] {
    const objects = this.#since(fromMs).flatMap((state) => (state.kind === "there" ? state.object : []));
    return objects.length > 0 || this.lastObject === undefined ? objects : [this.lastObject];
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

/** With what was known before in place of what is not known. */
function merged(wanted: Wanted, last: Wanted): Wanted {
  return {
    minAvailable: wanted.minAvailable ?? last.minAvailable,
    minReadySeconds: wanted.minReadySeconds ?? last.minReadySeconds,
    selector: wanted.selector ?? last.selector,
  };
}
