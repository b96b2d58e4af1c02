/**
 * The causes whose changes are held, and the approvals of people, as the leader knows them. The ConfigMap follows by a
 * few seconds; what a crash loses meanwhile is found again, since what is held is counted again.
 */
import { annotations } from "../../api/v1alpha1/names.ts";
import { type GeneratorState } from "../../kube/generator-state.ts";
import { type Clock, type EpochMicros, later, type MonotonicMs } from "../../util/clock.ts";
import { type Announcements } from "./announcements.ts";
import { type Approval, readApproval } from "./approval.ts";
import { coreCause } from "./change-window.ts";
import { type LatchStore } from "./latch-store.ts";
import { type CarriedOut } from "./latches.ts";

export interface LatchBookOptions {
  readonly store: LatchStore;
  readonly announcements: Announcements;
  readonly clock: Clock;
}

export interface GivenApproval {
  readonly approval: Approval;
  /** As it stands in the annotation. */
  readonly text: string;
}

/** In the cause of an approval: whatever is held. */
export const everyCause = "*";

/**
 * After the beginning of a term, once the latches are read, and of a latch: by then the changes that it holds have been
 * seen. A round through a large core takes a few seconds, and each change two more.
 */
const settleMs = 30_000;
/** Far more than people give in a day. */
const approvalsMax = 100;

export class LatchBook {
  readonly #options: LatchBookOptions;
  #latched = new Map<string, EpochMicros>();
  #approvals: readonly CarriedOut[] = [];
  /** Until when each latch stays even if it holds nothing. */
  readonly #staysUntilMs = new Map<string, MonotonicMs>();
  #settlesAtMs = 0 as MonotonicMs;
  #isDirty = false;
  /** The last annotation that was looked at. */
  #seenText: string | undefined;

  constructor(options: LatchBookOptions) {
    this.#options = options;
  }

  /** A term begins. */
  begin(): void {
    this.#latched.clear();
    this.#staysUntilMs.clear();
    this.#approvals = [];
    this.#seenText = undefined;
    this.#isDirty = false;
    this.#settlesAtMs = later(this.#options.clock.monotonicMs(), settleMs);
  }

  /** Reads what the former leader left; undefined when that is forbidden. Throws KubeError when there is no answer. */
  async load(signal: AbortSignal): Promise<GeneratorState | undefined> {
    const read = await this.#options.store.read(signal);
    if (read === undefined) return undefined;
    this.#latched = new Map(read.latches.latched);
    this.#approvals = read.latches.approvals;
    // Nothing was judged before.
    this.#settlesAtMs = later(this.#options.clock.monotonicMs(), settleMs);
    return read.state;
  }

  /** What holds changes of this cause; undefined = nothing. */
  heldBy(cause: string): string | undefined {
    return [cause, coreCause].find((one) => this.#latched.has(one));
  }

  latch(cause: string): void {
    if (this.#latched.has(cause)) return;
    const { clock, announcements } = this.#options;
    this.#latched.set(cause, clock.epochMicros());
    this.#staysUntilMs.set(cause, later(clock.monotonicMs(), settleMs));
    this.#isDirty = true;
    announcements.latched(cause);
  }

  /** Whether a person has approved a change of this cause and time, before this term began too. */
  hasApproved(cause: string, at: EpochMicros): boolean {
    const now = this.#options.clock.epochMicros();
    return this.#approvals.some((one) => {
      if (one.until <= now || at > one.at) return false;
      return one.cause === cause || one.cause === everyCause || (one.cause === coreCause && !this.#latched.has(cause));
    });
  }

  /** The approval was carried out for what was held. */
  carriedOut({ approval: { cause, until }, text }: GivenApproval): void {
    const at = this.#options.clock.epochMicros();
    const valid = this.#approvals.filter((one) => one.until > at);
    this.#approvals = [...valid, { cause, at, until, text }].slice(-approvalsMax);
    for (const one of this.#latched.keys()) if (cause === one || cause === everyCause) this.#latched.delete(one);
    this.#isDirty = true;
  }

  /** Ends latches that hold nothing. */
  endWithout(held: ReadonlySet<string>): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const cause of this.#latched.keys()) {
      if (held.has(cause) || nowMs < Math.max(this.#settlesAtMs, this.#staysUntilMs.get(cause) ?? 0)) continue;
      this.#latched.delete(cause);
      this.#isDirty = true;
      this.#options.announcements.unlatched(cause);
    }
  }

  /**
   * Writes what has changed or was lost, and returns an approval that a person has given since. Never throws
   * KubeErrors.
   */
  async round(signal: AbortSignal): Promise<GivenApproval | undefined> {
    const { store, clock } = this.#options;
    // What is latched is compared each time: without the ConfigMap, which a person may delete, nobody can approve.
    if (this.#isDirty || this.#latched.size > 0) {
      const latches = { latched: new Map(this.#latched), approvals: this.#approvals };
      this.#isDirty = false;
      if (!(await store.write(latches, signal))) this.#isDirty = true;
    }
    // A leader that has just begun does not know yet what is held.
    if (clock.monotonicMs() < this.#settlesAtMs) return undefined;
    const text = await store.annotation(annotations.approve, signal);
    if (text === undefined || text === this.#seenText) return undefined;
    this.#seenText = text;
    if (this.#approvals.some((one) => one.text === text)) return undefined;
    const read = readApproval(text, clock.epochMicros());
    if (read.ok) return { approval: read.approval, text };
    this.#options.announcements.ignoredApproval(text, `it must be ${read.allowed}`);
    return undefined;
  }
}
