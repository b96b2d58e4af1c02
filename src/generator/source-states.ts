/**
 * How each Deployment that wants a PodProtector fares, for gauges (docs/generator.md#states): its floor can be drained
 * or not, protects something or not, or it lacks its PodProtector. Kept by the leader alone, so that the sum over all
 * replicas of the generator is right.
 */
import { type ObjectKey } from "../api/object-key.ts";
import { type Floor } from "./floor.ts";

export interface SourceCounts {
  readonly undrainable: number;
  readonly unprotected: number;
  /** Lacking, by reason. A reason that was counted once stays, with 0. */
  readonly unprotectable: ReadonlyMap<string, number>;
}

type SourceState =
  | { readonly kind: Floor["kind"] }
  | { readonly kind: "lacking"; readonly reason: string; readonly protector: ObjectKey };

export class SourceStates {
  /** One entry for each Deployment that wants a PodProtector. */
  readonly #states = new Map<ObjectKey, SourceState>();
  /** Deployments that lack one, by the PodProtector that they lack. */
  readonly #lackedBy = new Map<ObjectKey, ObjectKey>();
  /** Reasons are words of the code and kinds of errors, so there are only few. */
  readonly #reasons = new Set<string>();

  /** It has its PodProtector, with such a floor. */
  has(source: ObjectKey, floor: Floor["kind"]): void {
    this.forget(source);
    this.#states.set(source, { kind: floor });
  }

  /** It lacks its PodProtector. Without a reason the one that is known stays, or it is "Pending". */
  lacks(source: ObjectKey, protector: ObjectKey, reason?: string): void {
    const known = this.#states.get(source);
    const said = reason ?? (known?.kind === "lacking" ? known.reason : "Pending");
    this.#states.set(source, { kind: "lacking", reason: said, protector });
    this.#lackedBy.set(protector, source);
    this.#reasons.add(said);
  }

  /** Whether the Deployment is known to lack its PodProtector. */
  isLacking(source: ObjectKey): boolean {
    return this.#states.get(source)?.kind === "lacking";
  }

  /** The Deployment that lacks the PodProtector of this name. */
  lackedBy(protector: ObjectKey): ObjectKey | undefined {
    return this.#lackedBy.get(protector);
  }

  /** It is gone, or wants none. */
  forget(source: ObjectKey): void {
    const known = this.#states.get(source);
    if (known?.kind === "lacking") this.#lackedBy.delete(known.protector);
    this.#states.delete(source);
  }

  /** This process leads no longer. */
  clear(): void {
    this.#states.clear();
    this.#lackedBy.clear();
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
