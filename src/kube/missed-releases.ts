/**
 * Whether a process may have missed releases (docs/generator.md#when-a-podprotector-is-gone). What is absent and not in
 * the list of releases was lost, and stays in force. But the list has room for the newest only: whoever could not reach
 * the core while more were released cannot tell what was released from what was lost. The running numbers of the list
 * say so; no clock is compared with another.
 */
import { type MonotonicMs } from "../util/clock.ts";
import { type ReleaseNumbers } from "./generator-state.ts";
import { type Informer, type Stored } from "./informer.ts";

/** Bookmarks come once a minute. */
const currentMs = 90_000;
/** An idle process reads the list so often, so that it knows how far it was when contact is lost. */
export const readListEveryMs = 300_000;

/** Of the PodProtectors: what tells whether their watch is current. */
export type WatchedState = Pick<Informer<Stored>, "lastError" | "isCatchingUp" | "stalenessMs">;

export class MissedReleases {
  readonly #protectors: WatchedState;
  /** The newest of the last read that was no older than the watch. */
  #known: { readonly newest: number; readonly atMs: MonotonicMs } | undefined;
  /** What was found absent in between may have been released. */
  #missed: { readonly afterMs: MonotonicMs; readonly untilMs: MonotonicMs } | undefined;

  constructor(protectors: WatchedState) {
    this.#protectors = protectors;
  }

  /**
   * Whether the watch shows what a read of the list shows. While it does not, releases that are read of are still to
   * be seen, or not any more when they have left the list by then.
   */
  isCurrent(): boolean {
    const watch = this.#protectors;
    return watch.lastError() === undefined && !watch.isCatchingUp() && watch.stalenessMs() <= currentMs;
  }

  /** The list was read. `wasCurrent`: as `isCurrent` said when the request was sent, at `sentAtMs`. */
  read({ newest, dropped }: ReleaseNumbers, sentAtMs: MonotonicMs, wasCurrent: boolean): void {
    const known = this.#known;
    if (known !== undefined && dropped > known.newest) this.#missed = { afterMs: known.atMs, untilMs: sentAtMs };
    if (wasCurrent && this.isCurrent()) this.#known = { newest, atMs: sentAtMs };
  }

  /** Of one that was found absent at `sinceMs`, before the list was read last, and is not in it. */
  mayHaveMissed(sinceMs: MonotonicMs): boolean {
    return this.#missed !== undefined && sinceMs > this.#missed.afterMs && sinceMs <= this.#missed.untilMs;
  }
}
