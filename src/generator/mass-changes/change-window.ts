/** Counts changes by cause, and says when they are too many (docs/mass-changes.md#how-many-are-too-many). */
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type Cause, floorAfter } from "./change.ts";
import { windowMicros } from "./floor-before.ts";
import { type FloorCount } from "./floor-count.ts";
import { type JudgedChange } from "./judged-change.ts";

/** What is latched when the changes of all causes together are too many. */
export const coreCause = "core";

/** What a terminating namespace takes with it is one change. */
export const namespacesCause = { text: "namespaces", isHalfTooMany: false } as const;

/** A person empties a namespace of that many workloads, and a chart has that many. */
const fewMax = 20;
/** In a large core more than that is everyday life. */
const shareMax = 0.1;
/** Half of fewer than these is one team's evening. */
const halfOfAtLeast = 6;
/** All causes together: five times what one cause may do. */
const coreFactor = 5;
/** Some hundred bytes each: as many changes as a core of this size has in ten minutes when everything goes. */
const entriesMax = 50_000;

export interface CountedChange {
  /** Digest of the UID of the PodProtector, or of a workload without one of its own: one object counts once. */
  readonly id: string;
  readonly cause: string;
  readonly at: EpochMicros;
  /** Its floor is 0 or gone once it is applied. */
  readonly endsProtection: boolean;
  /** It has been let pass, so its PodProtector is no longer among those with a floor above 0. */
  readonly isApplied: boolean;
}

export class ChangeWindow {
  /** In the order in which they were added. */
  readonly #entries = new Map<string, CountedChange>();

  add(entry: CountedChange): void {
    this.#entries.set(entry.id, entry);
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > entriesMax && oldest.done !== true) this.#entries.delete(oldest.value);
  }

  /** As `add`, of what others may count under the same ID: they know the cause better, and it is once for all. */
  share(entry: CountedChange): void {
    const known = this.#entries.get(entry.id);
    if (known === undefined) return this.add(entry);
    const endsProtection = known.endsProtection || entry.endsProtection;
    this.#entries.set(entry.id, { ...known, endsProtection, isApplied: known.isApplied || entry.isApplied });
  }

  /** What it is counted for; undefined = it is not. */
  causeOf(id: string): string | undefined {
    return this.#entries.get(id)?.cause;
  }

  /** It was undone, or a person has approved it. */
  remove(id: string): void {
    this.#entries.delete(id);
  }

  clear(): void {
    this.#entries.clear();
  }

  /**
   * What is too many around this moment: this cause, or all causes together; undefined = neither. `protectors`: those
   * that have a floor above 0 now. `ids`: what is part of this change, whatever cause it is counted for.
   */
  exceededBy(
    at: EpochMicros,
    cause: Cause,
    protectors: number,
    now: EpochMicros,
    ids: readonly string[] = [],
  ): string | undefined {
    const parts = new Set(ids);
    const near: CountedChange[] = [];
    let gone = 0;
    for (const entry of this.#entries.values()) {
      // What was changed at a time long ago, but seen only now, is compared with others of that time.
      if (Math.min(now, at) - entry.at > 2 * windowMicros) {
        this.#entries.delete(entry.id);
        continue;
      }
      if (Math.abs(entry.at - at) > windowMicros) continue;
      near.push(entry);
      if (entry.endsProtection && entry.isApplied) gone += 1;
    }
    // The highest number in the window: what a burst has taken away already must not lower its threshold.
    const highest = protectors + gone;
    const many = Math.max(fewMax, shareMax * highest);
    const ofCause = near.filter((one) => one.cause === cause.text || parts.has(one.id));
    const isHalf = cause.isHalfTooMany && highest >= halfOfAtLeast;
    const ofCauseMax = isHalf ? Math.min(many, highest / 2) : many;
    if (isMoreInAWindow(ofCause, ofCauseMax)) return cause.text;
    return isMoreInAWindow(near, coreFactor * many) ? coreCause : undefined;
  }
}

/** The window, and the number of floors that it is compared with. */
export class CountedChanges {
  readonly window = new ChangeWindow();
  readonly #floors: FloorCount;
  readonly #clock: Clock;

  constructor(floors: FloorCount, clock: Clock) {
    this.#floors = floors;
    this.#clock = clock;
  }

  /** What has passed before this term. `loweredUID`: of the PodProtector, where nothing is left of its floor. */
  add(change: CountedChange, loweredUID: string | undefined): void {
    this.window.add(change);
    if (loweredUID !== undefined) this.#floors.passed(loweredUID);
  }

  /** `isApplied`: it has been let pass. One that does not count changes nothing. */
  count({ protectorUID, windowID, fallen, change, at, isCounted, isExempt }: JudgedChange, isApplied: boolean): void {
    if (!isCounted || isExempt) return;
    const endsProtection = floorAfter(change.to) === 0;
    const counted = { cause: change.cause.text, at, isApplied };
    if (fallen.length === 0) this.window.add({ id: windowID, ...counted, endsProtection });
    // One floor ends, however many workloads have taken it down. What no longer asks stays counted.
    for (const [index, id] of fallen.entries())
      this.window.share({ id, ...counted, endsProtection: endsProtection && index === 0 });
    if (!isApplied) this.#floors.back(protectorUID);
    else if (endsProtection) this.#floors.passed(protectorUID);
  }

  /** As ChangeWindow.exceededBy. */
  exceededBy({ change, at, fallen }: JudgedChange): string | undefined {
    const protectors = this.#floors.aboveZero(change.cause.isOfEnforced === true);
    return this.window.exceededBy(at, change.cause, protectors, this.#clock.epochMicros(), fallen);
  }

  /**
   * What it is counted for: its cause, and those of the workloads that have fallen. What is held of these holds what
   * follows them, whatever its own cause is.
   */
  causesOf({ change, fallen }: JudgedChange): readonly string[] {
    return [change.cause.text, ...fallen.flatMap((id) => this.window.causeOf(id) ?? [])];
  }

  /** A person has approved it. */
  approved({ windowID, fallen }: JudgedChange): void {
    for (const id of [windowID, ...fallen]) this.window.remove(id);
  }

  clear(): void {
    this.window.clear();
    this.#floors.clear();
  }
}

/**
 * Whether more than `most` of them lie within the length of one window. Clocks of two leaders may disagree, and changes
 * may be found in any order, so some are before the one that is judged, and some after it.
 */
function isMoreInAWindow(changes: readonly CountedChange[], most: number): boolean {
  if (changes.length <= most) return false;
  const times = changes.map(({ at }) => at).toSorted((a, b) => a - b);
  const distance = Math.floor(most);
  return times.some((time, index) => {
    const last = times[index + distance];
    return last !== undefined && last - time <= windowMicros;
  });
}
