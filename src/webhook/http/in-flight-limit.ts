/**
 * The most reviews that are decided at once (docs/webhook.md#overload). One more that would have to wait is refused at
 * once, so that its caller is told "too many" in a millisecond instead of running into its timeout. Not refused are
 * reviews that can be decided without waiting, such as kubelet's last delete of a terminating pod, and those that are
 * allowed whatever happens: a dry run, a forced deletion.
 *
 * Whoever reaches the listener can send reviews that wait for long, such as evictions, and several at once over each
 * connection. So an address has a quarter of all that there is, unless a client certificate tells who it is.
 */
import { refusedForNow, type Refused } from "../decide/decision.ts";

/**
 * Twenty API servers, each with all of its 200 mutating requests under way here (--max-mutating-requests-inflight). One
 * that waits for a status write holds some 20 kB. Less than the connections of a listener, so that there is one left to
 * say no on.
 */
export const reviewsInFlightMax = 4_000;
/** API servers send one request at a time over a connection, and one address may have 1,250 (roles/webhook.ts). */
export const reviewsOfAddressMax = 1_250;

/** What a review may hold that is no matter for the limit of bytes: ten times what usual pods need. */
const usualBytes = 16 * 1024;
/** Of those that hold more, together: a quarter of the heap that the manifests allow. */
const heldBytesMax = 128 * 1024 * 1024;
const heldBytesOfAddressMax = heldBytesMax / 4;

/** What is under way of one address. */
interface Share {
  readonly reviews: number;
  readonly bytes: number;
}

const nothing: Share = { reviews: 0, bytes: 0 };

export class InFlightLimit {
  readonly #dryRun: boolean;
  /** Without what is beyond the share of an address: that is forced, and takes no room from others. */
  #inFlight = 0;
  #heldBytes = 0;
  /** By address; gone when nothing of it is under way. */
  readonly #shares = new Map<string, Share>();

  /** With `dryRun` (--webhook-dry-run) nothing is refused. */
  constructor(dryRun: boolean) {
    this.#dryRun = dryRun;
  }

  /**
   * The answer for a review that would have to wait, when there are too many; else the review is under way until
   * `leave` is called with the same address. `isForced`: the review says that it is to be allowed whatever is decided.
   * `address`: where it comes from; undefined = its client is identified.
   */
  enter(isForced: boolean, address?: string): Refused | undefined {
    const isBeyondShare = this.#shareOf(address).reviews >= reviewsOfAddressMax;
    if (!this.#dryRun && !isForced) {
      if (this.#inFlight >= reviewsInFlightMax) return overloaded(`${reviewsInFlightMax} other reviews`);
      if (isBeyondShare) return overloaded(`${reviewsOfAddressMax} other reviews from this address`);
    }
    if (!isBeyondShare) this.#inFlight += 1;
    this.#change(address, 1, 0);
    return undefined;
  }

  leave(address?: string): void {
    if (this.#shareOf(address).reviews <= reviewsOfAddressMax) this.#inFlight -= 1;
    this.#change(address, -1, 0);
  }

  /**
   * Whether there is room for what a review holds when it is parsed. If so it is taken until `release` is called with
   * the same. Applies to every review, since memory is no matter of what is decided.
   */
  hold(bytes: number, address?: string): boolean {
    if (bytes <= usualBytes) return true;
    if (this.#heldBytes + bytes > heldBytesMax) return false;
    if (this.#shareOf(address).bytes + bytes > heldBytesOfAddressMax) return false;
    this.#heldBytes += bytes;
    this.#change(address, 0, bytes);
    return true;
  }

  release(bytes: number, address?: string): void {
    if (bytes <= usualBytes) return;
    this.#heldBytes -= bytes;
    this.#change(address, 0, -bytes);
  }

  /** Why this replica takes no more reviews; undefined = it does. */
  get fullReason(): string | undefined {
    return this.#inFlight >= reviewsInFlightMax ? `${reviewsInFlightMax} reviews are being decided` : undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Who is identified has none that counts. */
  #shareOf(address: string | undefined): Share {
    return (address === undefined ? undefined : this.#shares.get(address)) ?? nothing;
  }

  #change(address: string | undefined, reviews: number, bytes: number): void {
    if (address === undefined) return;
    const before = this.#shareOf(address);
    const after = { reviews: before.reviews + reviews, bytes: before.bytes + bytes };
    if (after.reviews > 0 || after.bytes > 0) this.#shares.set(address, after);
    else this.#shares.delete(address);
  }
}

function overloaded(what: string): Refused {
  const message =
    `this webhook replica is deciding ${what} already; ` +
    "nothing was decided about this pod. Try again in a few seconds";
  return refusedForNow("Overloaded", message, [{ reason: "Overloaded", message: "too many reviews at once" }]);
}
