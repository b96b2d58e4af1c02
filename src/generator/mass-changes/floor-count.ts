/**
 * How many PodProtectors have a floor above 0. Those that are marked as released have none, as for webhooks. Nor are
 * those counted whose floor has passed to 0: a cache may show these as they were for a while, or hide that a person has
 * brought them back, and they are counted with what has passed. Twice counted they would raise the threshold of the
 * very burst that takes them. Those in shadow are counted, or left out.
 */
import { isReleased } from "../../api/v1alpha1/pod-protector.ts";
import { isInShadow } from "../../api/v1alpha1/names.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Clock, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { windowMicros } from "./floor-before.ts";

/** The number may be so old; counting 10,000 takes a millisecond. */
const numberOldMs = 1_000;
/** So long they are counted as passed, which also bounds how many are remembered. */
const windowMs = windowMicros / 1_000;

export interface FloorCountOptions {
  readonly protectors: { values(): Iterable<StoredProtector> };
  readonly clock: Clock;
}

export class FloorCount {
  readonly #options: FloorCountOptions;
  /** By UID, oldest first: since when the floor of a PodProtector may be 0, whether the cache shows it or not. */
  readonly #passed = new Map<string, MonotonicMs>();
  #all = 0;
  #enforced = 0;
  #countedAtMs: MonotonicMs = longAgo;

  constructor(options: FloorCountOptions) {
    this.#options = options;
  }

  /** The floor of the PodProtector with this UID goes to 0, and is counted as that. */
  passed(uid: string): void {
    if (!this.#passed.has(uid)) {
      this.#all -= 1;
      // It may be in shadow. Until it is counted anew, the threshold is rather too low.
      this.#enforced -= 1;
    }
    this.#passed.delete(uid);
    this.#passed.set(uid, this.#options.clock.monotonicMs());
  }

  /** It had a floor above 0 again, which is asked for anew. */
  back(uid: string): void {
    if (this.#passed.delete(uid)) this.#countedAtMs = longAgo;
  }

  /** Nothing has passed. */
  clear(): void {
    this.#passed.clear();
    this.#countedAtMs = longAgo;
  }

  aboveZero(isOfEnforced = false): number {
    this.#count();
    return isOfEnforced ? this.#enforced : this.#all;
  }

  #count(): void {
    const { protectors, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#countedAtMs < numberOldMs) return;
    for (const [uid, atMs] of this.#passed) if (nowMs - atMs > windowMs) this.#passed.delete(uid);
    this.#all = 0;
    this.#enforced = 0;
    for (const { protector, uid } of protectors.values()) {
      if (protector.spec.minAvailable <= 0 || isReleased(protector) || this.#passed.has(uid)) continue;
      this.#all += 1;
      if (!isInShadow(protector.metadata)) this.#enforced += 1;
    }
    this.#countedAtMs = nowMs;
  }
}
