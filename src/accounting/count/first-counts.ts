/**
 * What the first counts of one PodProtector in a cell wait for, and counts after generations that nobody counted
 * (docs/accounting.md#first-counts). Pure: each method is an event, or a question.
 */
import { type Aggregation } from "../../api/v1alpha1/pod-protector.ts";
import { later, laterOf, longAgo, type MonotonicMs } from "../../util/clock.ts";

/** Generations in a row, each of which the watch has shown with the present counting selector. */
interface SelectorRun {
  readonly from: number;
  readonly to: number;
  /** When the first was seen. */
  readonly sinceMs: MonotonicMs;
}

export class FirstCounts {
  #run: SelectorRun;
  /** Since when they are wanted: of this spec, over what is recorded. */
  #wanted: { readonly spec: string; readonly over: string; readonly sinceMs: MonotonicMs } | undefined;
  /** At the last event of the watch, the cell had no counts. */
  #wasUncounted = false;
  #remadeSinceMs: MonotonicMs = longAgo;

  constructor(generation: number, nowMs: MonotonicMs) {
    this.#run = { from: generation, to: generation, sinceMs: nowMs };
  }

  /** The watch has shown this generation. */
  sawGeneration(generation: number, hasSameSelector: boolean, nowMs: MonotonicMs): void {
    const { from, to, sinceMs } = this.#run;
    if (hasSameSelector && generation === to) return;
    this.#run =
      hasSameSelector && generation === to + 1
        ? { from, to: generation, sinceMs }
        : { from: generation, to: generation, sinceMs: nowMs };
  }

  /** An event of the watch, with what is recorded in the cell. */
  sawCounts(spec: string, recorded: Aggregation | undefined, nowMs: MonotonicMs): void {
    const isUncounted = recorded === undefined;
    // Without counts in the cell, nothing has been settled in it either, so a barrier sent after this event is enough.
    // Once there are counts, the wait begins when the next aggregation sees them.
    if (isUncounted) this.want(spec, recorded, nowMs);
    else if (this.#wasUncounted) this.forget();
    this.#wasUncounted = isUncounted;
  }

  /** Another PodProtector had the name before, was not let go, and nothing was admitted on it later than this. */
  remade(sinceMs: MonotonicMs): void {
    this.#remadeSinceMs = sinceMs;
  }

  /** They were written, or something may have happened unseen: the wait begins anew. */
  forget(): void {
    this.#wanted = undefined;
  }

  /**
   * They are wanted over this recorded state. Returns since when. When other counts are recorded, another aggregator
   * has written meanwhile, and the snapshot has to be newer than that, too.
   */
  want(spec: string, recorded: Aggregation | undefined, nowMs: MonotonicMs): MonotonicMs {
    const over = recorded === undefined ? "" : JSON.stringify(recorded);
    if (this.#wanted?.spec !== spec || this.#wanted.over !== over) this.#wanted = { spec, over, sinceMs: nowMs };
    return this.#wanted.sinceMs;
  }

  /**
   * After which moment a barrier must have been sent for them, as they are wanted since `sinceMs`: the selector is the
   * present one since then, and for a settle window nothing was admitted on a former object. Of objects that were gone
   * before `blindUntilMs` nothing is known, but whoever has counted an object (`wasCounted`) has waited for them.
   */
  fromMs(sinceMs: MonotonicMs, wasCounted: boolean, blindUntilMs: MonotonicMs, settleWindowMs: number): MonotonicMs {
    const unknownUntilMs = laterOf(this.#remadeSinceMs, wasCounted ? longAgo : blindUntilMs);
    return laterOf(laterOf(sinceMs, this.#run.sinceMs), later(unknownUntilMs, settleWindowMs));
  }

  /**
   * The same for counts over recorded ones, if generations after these were not seen, or had another selector; else
   * undefined.
   */
  outdatedFromMs(recorded: Aggregation | undefined): MonotonicMs | undefined {
    const generation = recorded?.countedGeneration;
    return generation !== undefined && generation + 1 < this.#run.from ? this.#run.sinceMs : undefined;
  }

  /**
   * The generation that counts over these may carry: no pod that was let go under another selector before it is among
   * them. Where none is recorded, that takes the newest barrier that the snapshot has passed. Undefined = none.
   */
  generationOver(recorded: Aggregation | undefined, barrierSentAtMs: MonotonicMs): number | undefined {
    const isProven = recorded?.countedGeneration !== undefined || barrierSentAtMs > this.#run.sinceMs;
    return isProven && this.#run.to > 0 ? this.#run.to : undefined;
  }
}
