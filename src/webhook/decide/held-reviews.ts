/**
 * Reviews that are held for a moment instead of being refused at once (docs/webhook.md#held-reviews). Each refusal
 * doubles the backoff of a controller, and quota is often back within 100 ms: so the webhook waits on behalf of its
 * caller for a change of the PodProtectors that refuse, and judges again. Which refusals and whose, hold-rule.ts says.
 *
 * The reviews that wait for a PodProtector are a line. Nobody is judged again before the first in line can go; then all
 * are, and who came first goes first (the turn, retry-batch/types.ts). A held review is admitted like any other: by a
 * record that is written before its deadline, so that quota is never taken for a caller that has given up.
 */
import { deepFallDelayMs } from "../../api/v1alpha1/names.ts";
import { assert } from "../../util/assert.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type Deletion } from "../deletion.ts";
import { type HeldOutcome, type WebhookMetrics } from "../metrics.ts";
import { type Protector } from "../protector/protector.ts";
import { type Match } from "./crowd.ts";
import { type Decision, type HoldReason } from "./decision.ts";
import { holdabilityOf } from "./hold-rule.ts";
import { type Caller } from "./several-protectors.ts";

export interface HeldReviewsOptions {
  /** --webhook-refusal-hold: at most so long for promised deletions; 0 = none is held. */
  readonly refusalHoldMs: number;
  readonly clock: Clock;
  readonly metrics: Pick<WebhookMetrics, "heldReview" | "readHeldReviews">;
}

/** A decision, and the PodProtectors that it was made by. */
export interface Judgement {
  readonly decision: Decision;
  readonly match: Match;
}

/** A review as far as holding it goes. */
export interface Holdable {
  readonly deletion: Deletion;
  /** UID of the pod's controller; undefined = it has none. */
  readonly owner: string | undefined;
  readonly caller: Caller;
  /** Judges it once more, by all that is known now; its record goes before those without a turn. */
  readonly judge: (turn: number) => Promise<Judgement>;
  /** Those of `protectors` that it still has to wait for; none = it is worth judging. Without a write. */
  readonly awaited: (protectors: readonly Protector[]) => readonly Protector[];
}

/** A controller has some workers for all of its objects: 5 of them for all ReplicaSets. */
const ownersMax = 3;
/** Of a replica. A controller waits for the reviews of one owner together, and a drain for those of a node's pods. */
const heldMax = 64;
/** The generator writes a floor some 50 ms after its workload has changed; a few times that. */
const floorHoldMs = 250;
/** The same for a floor that falls to less than half. */
const deepFallHoldMs = deepFallDelayMs + floorHoldMs;
/** A controller that is at the floor for good tries again and again; it has few workers. */
const deepFallEveryMs = 60_000;
/** An object changes some 20 times a second at most (write-pace.ts, --aggregator rates); a guard, five times that. */
const judgementsMax = 100;

type WakeReason = "changed" | "time-is-up" | "gone" | "closed";

/** One review from its first refusal to its answer. */
interface Held {
  readonly turn: number;
  readonly asked: Holdable;
  readonly sinceMs: MonotonicMs;
  /** The longest that it may be held, whatever it waits for: the record must be written in the other half. */
  readonly halfMs: number;
}

/** A held review while it waits. */
interface Waiting extends Held {
  readonly protectors: readonly Protector[];
  readonly wake: (reason: WakeReason) => void;
}

export class HeldReviews {
  readonly #options: HeldReviewsOptions;
  /** By cell and caller, the controller owners of those that are held, with their number. */
  readonly #owners = new Map<string, Map<string, number>>();
  /** Those that wait for each PodProtector, in no order. */
  readonly #lines = new Map<Protector, Set<Waiting>>();
  /** When a review was last held in vain for a deep fall of its floor. */
  readonly #inVain = new WeakMap<Protector, MonotonicMs>();
  #held = 0;
  #turns = 0;
  #isClosed = false;

  constructor(options: HeldReviewsOptions) {
    this.#options = options;
    options.metrics.readHeldReviews(() => this.#held);
  }

  /** The judgement that the review is answered by: `first`, unless it may be held and changes meanwhile. */
  async hold(first: Judgement, asked: Holdable): Promise<Judgement> {
    const reason = reasonOf(first);
    if (reason === undefined || asked.caller.signal?.aborted === true) return first;
    const held = this.#enter(asked);
    if (held === undefined) return first;
    let end: HeldEnd = { judgement: first, outcome: "refused" };
    try {
      end = await this.#judgeOnChanges(first, held);
    } finally {
      this.#leave(held);
      this.#options.metrics.heldReview(reason, end.outcome, this.#options.clock.monotonicMs() - held.sinceMs);
    }
    return end.outcome === "admitted" ? admittedAfterHold(end.judgement) : end.judgement;
  }

  /** Whoever is held is answered now, with the refusal that it has; and nobody is held any more. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) for (const { wake } of line) wake("closed");
  }

  /** Undefined = there is no room for it, or no time. */
  #enter(asked: Holdable): Held | undefined {
    const { clock, refusalHoldMs } = this.#options;
    const sinceMs = clock.monotonicMs();
    const halfMs = (asked.caller.deadlineMonotonicMs - sinceMs) / 2;
    if (this.#isClosed || refusalHoldMs <= 0 || halfMs <= 0 || this.#held >= heldMax || !this.#addOwner(asked))
      return undefined;
    this.#held += 1;
    this.#turns += 1;
    return { turn: this.#turns, asked, sinceMs, halfMs };
  }

  #leave({ asked }: Held): void {
    this.#held -= 1;
    const owner = ownerOf(asked);
    if (owner === undefined) return;
    const owners = this.#owners.get(owner.group);
    const count = owners?.get(owner.uid);
    assert(owners !== undefined && count !== undefined, "who leaves has entered");
    if (count > 1) owners.set(owner.uid, count - 1);
    else owners.delete(owner.uid);
    if (owners.size === 0) this.#owners.delete(owner.group);
  }

  /** Whether it may be held, as far as it depends on who asks. */
  #addOwner(asked: Holdable): boolean {
    if (holdabilityOf(asked.deletion, asked.caller.user) === "never") return false;
    const owner = ownerOf(asked);
    if (owner === undefined) return true;
    const owners = this.#owners.get(owner.group) ?? new Map<string, number>();
    const count = owners.get(owner.uid) ?? 0;
    if (count === 0 && owners.size >= ownersMax) return false;
    this.#owners.set(owner.group, owners.set(owner.uid, count + 1));
    return true;
  }

  async #judgeOnChanges(first: Judgement, held: Held): Promise<HeldEnd> {
    let judgement = first;
    let isTimeUp = false;
    for (let judgements = 0; judgements < judgementsMax; judgements += 1) {
      const reason = reasonOf(judgement);
      // What it has come to wait for since may take longer.
      if (reason === undefined || (isTimeUp && this.#leftMs(judgement, reason, held) <= 0)) break;
      const woken = await this.#change(judgement, reason, held);
      if (woken === "gone" || woken === "closed") return { judgement, outcome: outcomeOf(judgement, woken) };
      judgement = await held.asked.judge(held.turn);
      isTimeUp = woken === "time-is-up";
    }
    if (isTimeUp && reasonOf(judgement) === "floor") this.#heldInVain(judgement);
    const isGone = held.asked.caller.signal?.aborted === true;
    return { judgement, outcome: outcomeOf(judgement, isGone ? "gone" : undefined) };
  }

  /** For how long it may still be held. */
  #leftMs({ match }: Judgement, reason: HoldReason, { sinceMs, halfMs }: Held): number {
    const { clock, refusalHoldMs } = this.#options;
    const mayFallDeep = !match.askable.some((protector) => this.#wasInVain(protector));
    const floorMs = mayFallDeep ? deepFallHoldMs : Math.min(floorHoldMs, refusalHoldMs);
    return later(sinceMs, Math.min(halfMs, reason === "floor" ? floorMs : refusalHoldMs)) - clock.monotonicMs();
  }

  #heldInVain({ match }: Judgement): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const protector of match.askable) if (!this.#wasInVain(protector)) this.#inVain.set(protector, nowMs);
  }

  #wasInVain(protector: Protector): boolean {
    const atMs = this.#inVain.get(protector);
    return atMs !== undefined && this.#options.clock.monotonicMs() - atMs < deepFallEveryMs;
  }

  /** Waits for a change after which it is worth judging again, as long as it may. */
  #change(judgement: Judgement, reason: HoldReason, held: Held): Promise<WakeReason> {
    const { clock } = this.#options;
    const { signal } = held.asked.caller;
    const protectors = judgement.match.askable;
    const leftMs = this.#leftMs(judgement, reason, held);
    if (this.#isClosed) return Promise.resolve("closed");
    // It may have left while it was judged.
    if (signal?.aborted === true) return Promise.resolve("gone");
    if (leftMs <= 0) return Promise.resolve("time-is-up");
    // Something may have changed while it was judged.
    if (held.asked.awaited(protectors).length === 0) return Promise.resolve("changed");
    return new Promise((resolve) => {
      const onGone = (): void => wake("gone");
      const wake = (woken: WakeReason): void => {
        timer.cancel();
        signal?.removeEventListener("abort", onGone);
        this.#quitLines(waiting);
        resolve(woken);
      };
      const waiting: Waiting = { ...held, protectors, wake };
      const timer = clock.setTimer(leftMs, () => wake("time-is-up"));
      signal?.addEventListener("abort", onGone, { once: true });
      this.#joinLines(waiting);
    });
  }

  #joinLines(waiting: Waiting): void {
    for (const protector of waiting.protectors) {
      const line = this.#lines.get(protector);
      if (line !== undefined) line.add(waiting);
      else {
        this.#lines.set(protector, new Set([waiting]));
        protector.tellChanges(() => this.#changed(protector));
      }
    }
  }

  #quitLines(waiting: Waiting): void {
    for (const protector of waiting.protectors) {
      const line = this.#lines.get(protector);
      line?.delete(waiting);
      if (line?.size !== 0) continue;
      this.#lines.delete(protector);
      protector.tellChanges(undefined);
    }
  }

  /** In the order of the line, up to the first that has to wait for this one still. */
  #changed(protector: Protector): void {
    const line = [...(this.#lines.get(protector) ?? [])].sort((a, b) => a.turn - b.turn);
    for (const { asked, protectors, wake } of line) {
      const awaited = asked.awaited(protectors);
      if (awaited.includes(protector)) return;
      if (awaited.length === 0) wake("changed");
    }
  }
}

interface HeldEnd {
  readonly judgement: Judgement;
  readonly outcome: HeldOutcome;
}

function reasonOf({ decision }: Judgement): HoldReason | undefined {
  return decision.kind === "refused" ? decision.awaits : undefined;
}

function admittedAfterHold({ decision, match }: Judgement): Judgement {
  return { decision: decision.kind === "allowed" ? { ...decision, wasHeld: true } : decision, match };
}

function outcomeOf({ decision }: Judgement, woken: "gone" | "closed" | undefined): HeldOutcome {
  if (woken === "gone") return "gone";
  return decision.kind === "allowed" ? "admitted" : "refused";
}

/** Undefined = it is not limited by owners. A pod without a controller stands for itself. */
function ownerOf({ deletion, owner, caller }: Holdable): { readonly group: string; readonly uid: string } | undefined {
  if (holdabilityOf(deletion, caller.user) !== "by-owner") return undefined;
  return { group: `${deletion.cellID}/${caller.user}`, uid: owner ?? deletion.pod.uid };
}
