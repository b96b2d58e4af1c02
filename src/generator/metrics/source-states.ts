/**
 * How each source that wants a PodProtector fares, for gauges (docs/generator.md#states): its floor can be drained
 * or not, protects something or not, or it lacks its PodProtector. Kept by the leader alone, so that the sum over all
 * replicas of the generator is right.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { type Floor } from "../../sources/floor.ts";

/** Why a source lacks its PodProtector, where it is no error of the API server. */
export const foreignReason = "ForeignPodProtector";

export interface SourceCounts {
  readonly undrainable: number;
  readonly unprotected: number;
  /** Lacking, by reason. A reason that was counted once stays, with 0. */
  readonly unprotectable: ReadonlyMap<string, number>;
}

type SourceState = { readonly kind: Floor["kind"] } | { readonly kind: "lacking"; readonly reason: string };

export class SourceStates {
  /** By the key of its PodProtector, one entry for each source that wants one. */
  readonly #states = new Map<ObjectKey, SourceState>();
  /** Reasons are words of the code and kinds of errors, so there are only few. */
  readonly #reasons = new Set<string>();

  /** The PodProtector is there, with such a floor. */
  has(key: ObjectKey, floor: Floor["kind"]): void {
    this.#states.set(key, { kind: floor });
  }

  /** The PodProtector is lacking. Without a reason the one that is known stays, or it is "Pending". */
  lacks(key: ObjectKey, reason?: string): void {
    const known = this.#states.get(key);
    const said = reason ?? (known?.kind === "lacking" ? known.reason : "Pending");
    this.#states.set(key, { kind: "lacking", reason: said });
    this.#reasons.add(said);
  }

  /** Whether this PodProtector is known to be lacking. */
  isLacking(key: ObjectKey): boolean {
    return this.#states.get(key)?.kind === "lacking";
  }

  /** The source is gone, or wants none. */
  forget(key: ObjectKey): void {
    this.#states.delete(key);
  }

  /** This process leads no longer. */
  clear(): void {
    this.#states.clear();
  }

  counts(): SourceCounts {
    let undrainable = 0;
    let unprotected = 0;
    const unprotectable = new Map([...this.#reasons].map((reason) => [reason, 0]));
    for (const state of this.#states.values()) {
      if (state.kind === "undrainable") undrainable += 1;
      else if (state.kind === "unprotected") unprotected += 1;
      else if (state.kind === "lacking") unprotectable.set(state.reason, (unprotectable.get(state.reason) ?? 0) + 1);
    }
    return { undrainable, unprotected, unprotectable };
  }
}
