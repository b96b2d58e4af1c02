/** How old what a generator acts on may be. */
import { type Kernel } from "../../kernel/kernel.ts";

/**
 * From the moment when a generator reads a source until what it writes is committed: a request lasts 60 s, is
 * stalled for 77 s at most, and its process may pause meanwhile.
 */
export const lagMs = 150_000;
/** A watch that has died silently is noticed after 150 s, comes back after 30 s, and may then be 150 s late. */
const watchedLagMs = lagMs + 330_000;
/** The same while all is well: milliseconds, and a turn that comes a moment later (generator/pacer.ts). */
export const calmLagMs = 3_000;

export class Readings {
  readonly #kernel: Pick<Kernel, "nowMs">;
  readonly #calmSinceMs: () => number | undefined;

  /** `calmSinceMs`: since when all is well; undefined = it is not. */
  constructor(kernel: Pick<Kernel, "nowMs">, calmSinceMs: () => number | undefined) {
    this.#kernel = kernel;
    this.#calmSinceMs = calmSinceMs;
  }

  /** Whether all is well, for so long at least. */
  isCalm(forMs = 0): boolean {
    const sinceMs = this.#calmSinceMs();
    return sinceMs !== undefined && this.#kernel.nowMs - sinceMs >= forMs;
  }

  /** When a generator whose write is committed now may have read what it acts on. */
  fromMs(): number {
    return this.#fromMs(lagMs);
  }

  /** The same for the mode of a namespace, which is known by a watch alone. */
  modesFromMs(): number {
    return this.#fromMs(watchedLagMs);
  }

  #fromMs(mostMs: number): number {
    const { nowMs } = this.#kernel;
    const calmMs = this.#calmSinceMs();
    return calmMs === undefined ? nowMs - mostMs : Math.max(nowMs - mostMs, Math.min(calmMs, nowMs - calmLagMs));
  }
}
