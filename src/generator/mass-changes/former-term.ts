/**
 * What former leaders have left: latches and approvals (latch-book.ts), the list of releases, and the floors that they
 * lowered. It is read before the first judgement of a term; nothing that lowers a floor passes before.
 */
import { type GeneratorState } from "../../kube/generator-state.ts";
import { isKubeError } from "../../kube/kube-client.ts";
import { type Clock, later, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { type CountingRule } from "./change.ts";
import { type CountedChange } from "./change-window.ts";
import { type Known, loweredBefore, releasedBefore } from "./former-changes.ts";
import { type LatchBook } from "./latches/latch-book.ts";
import { type LoweredFloors } from "./floors/lowered-floors.ts";

/** After an answer of 403, whatever number of changes waits. */
const askAgainMs = 1_000;

export interface FormerTermOptions extends Pick<Known, "modes"> {
  readonly latches: Pick<LatchBook, "load" | "isUnread">;
  readonly lowered: Pick<LoweredFloors, "list">;
  readonly sources: Pick<SourceCaches, "get">;
  readonly rule: CountingRule;
  readonly clock: Clock;
  /** A change that a former leader let pass. `loweredUID`: of the PodProtector, where nothing is left of its floor. */
  readonly onChange: (change: CountedChange, loweredUID?: string) => void;
}

export class FormerTerm {
  readonly #options: FormerTermOptions;
  #reading: Promise<void> | undefined;
  #askAgainAtMs: MonotonicMs = longAgo;

  constructor(options: FormerTermOptions) {
    this.#options = options;
  }

  /** A term begins or ends. */
  clear(): void {
    this.#reading = undefined;
    this.#askAgainAtMs = longAgo;
  }

  /**
   * Resolves to 0 when it is read, which is done once in a term. While that is forbidden, which may last for a moment
   * only, resolves to the milliseconds after which to ask again. Throws KubeError.
   */
  async read(signal: AbortSignal): Promise<number> {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < this.#askAgainAtMs) return Math.ceil(this.#askAgainAtMs - nowMs);
    this.#reading ??= this.#read(signal);
    try {
      await this.#reading;
      return 0;
    } catch (error) {
      this.#reading = undefined;
      if (!isKubeError(error, "forbidden", "unauthorized")) throw error;
      this.#askAgainAtMs = later(this.#options.clock.monotonicMs(), askAgainMs);
      return askAgainMs;
    }
  }

  /** As `read`, and what was forbidden is tried again. False when it is not read. Never throws for operating errors. */
  async isRead(signal: AbortSignal): Promise<boolean> {
    const { latches } = this.#options;
    try {
      if ((await this.read(signal)) > 0) return false;
      if (latches.isUnread) this.#count(await latches.load(signal));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return false;
    }
    return true;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { latches, lowered, clock, onChange } = this.#options;
    this.#count(await latches.load(signal));
    for (const stored of await lowered.list(signal)) {
      const change = loweredBefore(stored, this.#options, clock.epochMicros());
      if (change !== undefined) onChange(change, change.endsProtection ? stored.uid : undefined);
    }
  }

  #count(state: GeneratorState | undefined): void {
    for (const change of releasedBefore(state?.releases ?? [])) this.#options.onChange(change);
  }
}
