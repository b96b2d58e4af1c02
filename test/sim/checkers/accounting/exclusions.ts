/**
 * What does not count as a broken promise (docs/accounting.md#what-is-left-open), each with the time after which it
 * does, and how often and how long each was needed. Restores are counted apart.
 */
import { type Kernel } from "../../kernel/kernel.ts";

const secondMs = 1_000;
/**
 * Longest time until a snapshot shows what has happened, while its aggregator lives: a watch that died silently is
 * noticed after 150 s, comes back after 30 s at most, and may then be 150 s late.
 */
const seenMs = 150 * secondMs + 30 * secondMs + 150 * secondMs;

/**
 * Longest time until every webhook has found a cell silent from which nothing comes any more
 * (docs/accounting.md#silent-cells): for half of S its aggregator may go by the last barrier, then S, and less than
 * S/4 for the two LISTs about it. One more that stalls is given up after 30 s.
 */
export function silenceLimitMs(silentAfterMs: number): number {
  return 1.75 * silentAfterMs + 30 * secondMs;
}

/** By name: the limit, counted from what the comment says. */
const limitsMs = {
  /** Of a pod that has failed or gone by itself, and is still counted: since it met its criterion last. */
  "own unavailability": seenMs,
  /** The same of a pod in a cell that is lost: since nothing has kept the webhooks from noticing. */
  "in a lost cell": "silence",
  /** Of a pod that was deleted by force: since the admission, or since the pod has ended. */
  forced: seenMs,
  /** Admitted while the PodProtector was in shadow, or a replica may have taken it for that: the same. */
  "in shadow": seenMs,
  /** Of a pod that is counted but not protected: the same. */
  "not protected": seenMs,
  /** Of an eviction whose pod was replaced under its name while it was judged: the same. */
  "replaced under its name": seenMs,
  /** Admitted by a replica that had not been told of the PodProtector: the same. */
  "not told": seenMs,
  /**
   * Admitted without a record before the selectors were edited, the floor was raised from zero, or a mark of release
   * was taken back: since then.
   */
  "before an edit": seenMs,
  /** How long a replica may not have been told of a PodProtector: since it is what it is. */
  "slow to be told": seenMs,
  /** An admission that has settled by the window, and whose request is still under way: since it was recorded. */
  "late commit": 600 * secondMs,
  /**
   * An admission in a cell that nobody counts, by a webhook of the previous release: since the last of them was told to
   * stop. A request stalls for 77 s at most.
   */
  "previous release": seenMs,
  /** A pod that a webhook with a slow clock takes for young, because nobody has counted it yet: since it is not. */
  "slow clock": seenMs,
} as const satisfies Readonly<Record<string, number | "silence">>;

export type Exclusion = keyof typeof limitsMs;
export const exclusions = Object.keys(limitsMs) as readonly Exclusion[];

/** How often something was excluded, and after how long at most. */
export interface ExclusionUse {
  readonly times: number;
  readonly longestMs: number;
}

export class Exclusions {
  readonly #kernel: Kernel;
  readonly #silenceMs: number;
  readonly #uses = new Map<Exclusion, ExclusionUse>();
  /** By process: from when until when its machine slept. */
  readonly #sleeps = new Map<string, { readonly fromMs: number; readonly untilMs: number }[]>();

  constructor(kernel: Kernel, silentAfterMs: number) {
    this.#kernel = kernel;
    this.#silenceMs = silenceLimitMs(silentAfterMs);
  }

  /** What was needed so far. */
  get uses(): ReadonlyMap<Exclusion, ExclusionUse> {
    return this.#uses;
  }

  /** The machine of the process sleeps from now on: whatever it measures and is told is later by so much. */
  sleeps(process: string, untilMs: number): void {
    const before = this.#sleeps.get(process) ?? [];
    this.#sleeps.set(process, [...before, { fromMs: this.#kernel.nowMs, untilMs }]);
  }

  /** Whether it is within its limit. How a sleep lengthens silence, actors/strikes/suspensions.ts says. */
  isAllowed(name: Exclusion, sinceMs: number): boolean {
    const limit = limitsMs[name];
    const ageMs = this.#kernel.nowMs - sinceMs;
    if (limit === "silence") return ageMs <= this.#silenceMs;
    return ageMs <= limit || ageMs - this.#longestSleepMs(sinceMs) <= limit;
  }

  /** For how long one machine has slept since then, at most. */
  #longestSleepMs(sinceMs: number): number {
    const { nowMs } = this.#kernel;
    const sums = [...this.#sleeps.values()].map((sleeps) =>
      sleeps.reduce(
        (sum, { fromMs, untilMs }) => sum + Math.max(0, Math.min(nowMs, untilMs) - Math.max(sinceMs, fromMs)),
        0,
      ),
    );
    return Math.max(0, ...sums);
  }

  /** Whether it is within its limit, and notes that it was needed. */
  excuses(name: Exclusion, sinceMs: number): boolean {
    if (!this.isAllowed(name, sinceMs)) {
      this.#kernel.note(`no longer excluded: ${name}, since ${sinceMs.toFixed(3)}`);
      return false;
    }
    const { times, longestMs } = this.#uses.get(name) ?? { times: 0, longestMs: 0 };
    this.#uses.set(name, { times: times + 1, longestMs: Math.max(longestMs, this.#kernel.nowMs - sinceMs) });
    return true;
  }
}
