/**
 * The newest known state of one PodProtector, from three sources: the watch, the own last write, a live GET. It is the
 * base of the next write, so that a busy PodProtector does not conflict with itself.
 *
 * A state machine. `next` is the whole of it, without time and without I/O:
 *
 * - A live GET is a quorum read. It always replaces what was known.
 * - A live GET below what was known before it was sent, of the same UID: the core was restored from a backup.
 * - A watch that goes backwards proves nothing, because a relist may come from a lagging server. It asks for a GET.
 * - A conflict on top of the newest state means that the core holds a newer one. The watch may show it. After several
 *   conflicts in a row the watch lags, and only a live GET will do.
 * - A watch whose connection died silently is noticed only after minutes. Nothing is wrongly admitted meanwhile,
 *   because a write compares and swaps; but a refusal needs no write. So a state that may be old is suspected before
 *   it refuses: the next batch reads the object live.
 *
 * Which counts are in doubt is kept beside it, in doubts/.
 */
import { type RecountMarks } from "../../accounting/count/recount-mark.ts";
import { compareResourceVersions, type ResourceVersion } from "../../api/resource-version.ts";
import { assertNever } from "../../util/assert.ts";
import { type Clock, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { wallClockOffsetMs } from "../../util/suspensions.ts";
import { Doubts } from "./doubts/doubts.ts";
import { type ProtectorView } from "./protector-view.ts";

/** Conflicts in a row after which the watch is still trusted. A replica wins every other race, so four are rare. */
export const quickRetries = 3;

/** How far the newest known state can be relied on. All but "trusted" ask for a live GET before the next judgement. */
export type Trust =
  | { readonly kind: "trusted" }
  /** It may be old. If the GET fails, it is judged by anyway. */
  | { readonly kind: "suspected" }
  /**
   * The core holds a newer one for certain: a write on top of it met a conflict. A newer state from the watch resolves
   * that, unless `onlyLive`: then the watch lags as well.
   */
  | { readonly kind: "behind"; readonly onlyLive: boolean }
  /** It may be wrong: a write lost its answer, or the watch went backwards. Only a live GET resolves that. */
  | { readonly kind: "unknown" };

export interface State {
  readonly newest: ProtectorView;
  readonly trust: Trust;
  /** Version of the last event of the watch. */
  readonly watchedVersion: ResourceVersion;
  /** Conflicts in a row, since the last own write. */
  readonly conflicts: number;
}

export type StateEvent =
  /** The watch has delivered this state. */
  | { readonly on: "watched"; readonly view: ProtectorView }
  /** An own write was accepted as this state. */
  | { readonly on: "wrote"; readonly view: ProtectorView }
  /** An own write on top of `base` met a conflict. */
  | { readonly on: "conflict"; readonly base: ProtectorView }
  /** A request failed, so that the state in the core is not known. */
  | { readonly on: "lostAnswer" }
  /** The state may be old. */
  | { readonly on: "suspect" }
  /** The live GET of a state that may be old has failed. */
  | { readonly on: "notRead" }
  /** A live GET has answered with `view`; `known` was the newest state when it was sent. */
  | { readonly on: "live"; readonly view: ProtectorView; readonly known: ProtectorView }
  /** A live GET has answered with `view`, below what was known: the core was restored. */
  | { readonly on: "restored"; readonly view: ProtectorView };

const trusted: Trust = { kind: "trusted" };
const suspected: Trust = { kind: "suspected" };
const unknown: Trust = { kind: "unknown" };

/** The state of an object that the watch shows for the first time, or under another UID than before. */
export function firstState(view: ProtectorView): State {
  return { newest: view, trust: trusted, watchedVersion: view.resourceVersion, conflicts: 0 };
}

/** Pure: the state after `event`. */
export function next(state: State, event: StateEvent): State {
  const { newest, trust } = state;
  switch (event.on) {
    case "watched":
      return afterWatch(state, event.view);
    case "wrote":
      // The watch may have been faster, even with a state that somebody else wrote after ours.
      return { ...state, newest: newerOf(newest, event.view), conflicts: 0 };
    case "conflict":
      return afterConflict(state, event.base);
    case "lostAnswer":
      return { ...state, trust: onlyLive(trust) };
    case "suspect":
      return trust.kind === "trusted" ? { ...state, trust: suspected } : state;
    case "notRead":
      return trust.kind === "suspected" ? { ...state, trust: trusted } : state;
    case "live":
      return { ...state, newest: afterRead(newest, event), trust: trusted };
    case "restored":
      return { ...state, newest: event.view, watchedVersion: event.view.resourceVersion, trust: trusted };
    default:
      return assertNever(event);
  }
}

function afterWatch(state: State, view: ProtectorView): State {
  const wentBack = compareResourceVersions(view.resourceVersion, state.watchedVersion) < 0;
  const trust = wentBack ? onlyLive(state.trust) : state.trust;
  const after = { ...state, trust, watchedVersion: view.resourceVersion };
  if (!isNewer(view, state.newest)) return after;
  return { ...after, newest: view, trust: trust.kind === "behind" && !trust.onlyLive ? trusted : trust };
}

function afterConflict(state: State, base: ProtectorView): State {
  const { trust, newest } = state;
  const conflicts = state.conflicts + 1;
  const watchLags = conflicts > quickRetries;
  // Otherwise the watch has already shown a newer state, which explains the conflict.
  const isBehind = newest === base;
  if (!isBehind) return { ...state, conflicts, trust: watchLags ? onlyLive(trust) : trust };
  return { ...state, conflicts, trust: { kind: "behind", onlyLive: watchLags || needsLive(trust) } };
}

function afterRead(
  newest: ProtectorView,
  { view, known }: Extract<StateEvent, { readonly on: "live" }>,
): ProtectorView {
  // Otherwise the watch has delivered something while the GET was under way: the newer one counts.
  return newest === known || view.uid !== known.uid ? view : newerOf(newest, view);
}

function needsLive(trust: Trust): boolean {
  return trust.kind === "unknown" || (trust.kind === "behind" && trust.onlyLive);
}

/** At most as much trust, and no event of the watch restores it. */
function onlyLive(trust: Trust): Trust {
  return trust.kind === "behind" ? { ...trust, onlyLive: true } : unknown;
}

function isNewer(a: ProtectorView, b: ProtectorView): boolean {
  return compareResourceVersions(a.resourceVersion, b.resourceVersion) > 0;
}

/** `view` if it is a newer state of the same object. */
function newerOf(newest: ProtectorView, view: ProtectorView): ProtectorView {
  return newest.uid === view.uid && isNewer(view, newest) ? view : newest;
}

/** One GET a second keeps a refusal fresh enough for those who ask again, however many ask. */
const suspectIntervalMs = 1_000;

/** The machine of one object, with what is in doubt of its counts. */
export class NewestState {
  #state: State;
  readonly #doubts: Doubts;
  readonly #clock: Clock;
  /** The last suspicion. */
  #suspectedAt: MonotonicMs = longAgo;
  #readAt: MonotonicMs = longAgo;
  /** As wallClockOffsetMs, then. */
  #readOffsetMs = 0;

  /** `view`: what the watch shows first. `former`: as for Doubts.renewed; undefined = there was none. */
  constructor(view: ProtectorView, marks: RecountMarks, clock: Clock, former?: ProtectorView) {
    this.#state = firstState(view);
    this.#clock = clock;
    this.#doubts = new Doubts(marks, clock);
    if (former !== undefined) this.#doubts.renewed(former, view);
  }

  get view(): ProtectorView {
    return this.#state.newest;
  }

  /** The object is to be read live before it is judged by. */
  get isDoubtful(): boolean {
    return this.#state.trust.kind !== "trusted";
  }

  /** It may be old, but nothing says that it is wrong. */
  get isSuspected(): boolean {
    return this.#state.trust.kind === "suspected";
  }

  /** It was read live a moment ago, and the machine has not slept since. */
  get isJustRead(): boolean {
    const sleptMs = wallClockOffsetMs(this.#clock) - this.#readOffsetMs;
    return this.#clock.monotonicMs() - this.#readAt < suspectIntervalMs && sleptMs < suspectIntervalMs;
  }

  /** The core holds a newer state than `view`, for certain. */
  get isOvertaken(): boolean {
    return this.#state.trust.kind === "behind";
  }

  /** As Doubts.of. */
  get doubtOf(): Doubts["of"] {
    return this.#doubts.of;
  }

  /** The watch has delivered this state, of the same UID. */
  watched(view: ProtectorView): void {
    this.#advance({ on: "watched", view });
  }

  /** An own write was accepted as this state. */
  wrote(view: ProtectorView): void {
    this.#advance({ on: "wrote", view });
  }

  /** An own write on top of `base` met a conflict. Returns the number of conflicts in a row. */
  conflicted(base: ProtectorView): number {
    this.#advance({ on: "conflict", base });
    return this.#state.conflicts;
  }

  /** A request failed, so that the state in the core is not known. */
  lostAnswer(): void {
    this.#advance({ on: "lostAnswer" });
  }

  /**
   * The state may be old. Returns whether the object is to be read live: at most once a second, and only if `limit`,
   * which many objects share, permits one more GET.
   */
  suspect(now: MonotonicMs, limit: ReadLimit): boolean {
    if (this.isDoubtful) return true;
    if (now - this.#suspectedAt < suspectIntervalMs || !limit.take(now)) return false;
    this.#suspectedAt = now;
    this.#advance({ on: "suspect" });
    return true;
  }

  /** The live GET of a suspected state has failed: it is judged by anyway. Returns false if it must not be. */
  notRead(): boolean {
    const { isSuspected } = this;
    this.#advance({ on: "notRead" });
    return isSuspected;
  }

  /**
   * The answer of a live GET; `known` was the newest state when it was sent. Returns true when it shows that the core
   * was restored.
   */
  readLive(view: ProtectorView, known: ProtectorView): boolean {
    this.#readAt = this.#clock.monotonicMs();
    this.#readOffsetMs = wallClockOffsetMs(this.#clock);
    const isRestored = view.uid === known.uid && isNewer(known, view);
    if (isRestored) this.#doubts.restored(known);
    this.#advance(isRestored ? { on: "restored", view } : { on: "live", view, known });
    return isRestored;
  }

  #advance(event: StateEvent): void {
    const before = this.#state.newest;
    this.#state = next(this.#state, event);
    const { newest } = this.#state;
    if (newest === before) return;
    if (newest.uid === before.uid) this.#doubts.replaced(before, newest);
    else this.#doubts.renewed(before, newest);
  }
}

/**
 * 50 GETs a second, a quarter of the default request rate: when thousands of workloads are refused at once, the writes
 * come first.
 */
const readSpacingMs = 20;

/** Spaces the live reads that only make sure of refusals, over all objects of a core. */
export class ReadLimit {
  #takenAt: MonotonicMs = longAgo;

  /** Whether one more GET is permitted now; if so it counts. */
  take(now: MonotonicMs): boolean {
    if (now - this.#takenAt < readSpacingMs) return false;
    this.#takenAt = now;
    return true;
  }
}
