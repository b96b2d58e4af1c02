/**
 * The most reviews that are decided at once (docs/webhook.md#overload). One more that would have to wait is refused at
 * once, so that its caller is told "too many" in a millisecond instead of running into its timeout. Not refused are
 * reviews that can be decided without waiting, such as kubelet's last delete of a terminating pod, and those that are
 * allowed whatever happens: a dry run, a forced deletion.
 */
import { refusedForNow, type Refused } from "../decide/decision.ts";

/**
 * Twenty API servers, each with all of its 200 mutating requests under way here (--max-mutating-requests-inflight). One
 * that waits for a status write holds some 20 kB. Less than the connections of a listener, so that there is one left to
 * say no on.
 */
export const reviewsInFlightMax = 4_000;

/** What a review may hold that is no matter for the limit of bytes: ten times what usual pods need. */
const usualBytes = 16 * 1024;
/** Of those that hold more, together: a quarter of the heap that the manifests allow. */
const heldBytesMax = 128 * 1024 * 1024;

export class InFlightLimit {
  readonly #dryRun: boolean;
  #inFlight = 0;
  #heldBytes = 0;

  /** With `dryRun` (--webhook-dry-run) nothing is refused. */
  constructor(dryRun: boolean) {
    this.#dryRun = dryRun;
  }

  /**
   * The answer for a review that would have to wait, when there are too many; else the review is under way until
   * `leave` is called. `isForced`: the review says that it is to be allowed whatever is decided.
   */
  enter(isForced: boolean): Refused | undefined {
    if (this.#inFlight >= reviewsInFlightMax && !this.#dryRun && !isForced) return overloaded();
    this.#inFlight += 1;
    return undefined;
  }

  /**
   * Whether there is room for what a review holds when it is parsed. If so it is taken until `release` is called with
   * the same number. Applies to every review, since memory is no matter of what is decided.
   */
  hold(bytes: number): boolean {
    if (bytes <= usualBytes) return true;
    if (this.#heldBytes + bytes > heldBytesMax) return false;
    this.#heldBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    if (bytes > usualBytes) this.#heldBytes -= bytes;
  }

  /** Why this replica takes no more reviews; undefined = it does. */
  get fullReason(): string | undefined {
    return this.#inFlight >= reviewsInFlightMax ? `${reviewsInFlightMax} reviews are being decided` : undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  leave(): void {
    this.#inFlight -= 1;
  }
}

function overloaded(): Refused {
  const message =
    `this webhook replica is deciding ${reviewsInFlightMax} other reviews already; ` +
    "nothing was decided about this pod. Try again in a few seconds";
  return refusedForNow("Overloaded", message, [{ reason: "Overloaded", message: "too many reviews at once" }]);
}
