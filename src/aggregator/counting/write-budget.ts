/**
 * What an aggregator may write into its core ahead of the aggregation rate, because somebody waits for the counts
 * (docs/aggregator.md#as-fresh-as-somebody-waits-for-them): so many writes a second, shared fairly by object, and so
 * many bytes.
 *
 * - A write is reserved before it is known whether there is anything to write. If there was not, it is given back.
 * - *Contenders* are the objects that were written out of the budget within the last second, or were refused by it.
 *   With n of them, each is written once in n shares. So whoever writes all the time leaves room for those that do not.
 * - Bytes of all writes count, but only those of the budget wait for them, and for those of others a second at most.
 *
 * Who gets nothing here is counted at the aggregation rate, as if nobody waited.
 */
import { type ObjectKey } from "../../api/object-key.ts";
import { createTokenBucket, type TokenBucket } from "../../kube/token-bucket.ts";
import { type Clock, later, laterOf, longAgo, type MonotonicMs } from "../../util/clock.ts";

/**
 * A quarter of the requests that the core's client sends by default (`--core-kube-qps`), so that first counts and usual
 * writes go on beside them. A write takes an API server about 4 ms of CPU (docs/performance.md): a fifth of a core.
 */
const writes = { qps: 50, burst: 50 } as const;
/** For each contender. Four fifths of the budget are shared like that; the rest is for those that come new. */
const shareMs = 25;
const contendsForMs = 1_000;
/** Longest wait for a token: beyond it, at the default rate, the object is counted anyway. */
const waitMsMax = 1_000;
/** Of one core, as in webhook/protector/write-pace.ts: what the cells of an object write into it together. */
const coreBytesPerMs = 2_000;
/** Whatever its bytes, one object a second. */
const bytesWaitMsMax = 1_000;

/** Why an object is left to the aggregation rate: its share, the tokens, the bytes; or the rate is sooner anyway. */
type Refusal = "share" | "tokens" | "bytes" | "rate";

/** `held`: the object has a reservation that was not used yet. */
type Reservation = { readonly afterMs: number } | { readonly refused: Refusal } | "held";

interface Contender {
  /** When it was written or refused last. */
  readonly seenAtMs: MonotonicMs;
  readonly writtenAtMs: MonotonicMs;
}

export class WriteBudget {
  readonly #clock: Clock;
  readonly #tokens: TokenBucket;
  /** A token each, for an aggregation to come. At most one for each object in the work queue. */
  readonly #reserved = new Set<ObjectKey>();
  /** A token each, for an aggregation that runs. */
  readonly #inWork = new Set<ObjectKey>();
  /** Seen within the last second, the oldest first. */
  readonly #contenders = new Map<ObjectKey, Contender>();
  /** When the bytes written so far have found room. */
  #bytesDueMs: MonotonicMs = longAgo;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#tokens = createTokenBucket(writes, clock);
  }

  /** Reserves a write of the object that is not made before `fromMs`, and is made before `untilMs` (from now). */
  reserve(key: ObjectKey, fromMs: number, untilMs: number): Reservation {
    if (this.#reserved.has(key)) return "held";
    if (fromMs >= untilMs) return { refused: "rate" };
    const nowMs = this.#clock.monotonicMs();
    this.#forgetContenders(nowMs);
    const contender = this.#contenders.get(key);
    const count = this.#contenders.size + (contender === undefined ? 1 : 0);
    const share = contender === undefined ? 0 : later(contender.writtenAtMs, count * shareMs) - nowMs;
    const bytes = this.#bytesDueMs - nowMs;
    const token = share < untilMs && bytes < untilMs ? this.#tokens.reserve(Math.min(untilMs, waitMsMax)) : undefined;
    if (token === undefined) {
      this.#contends(key, { seenAtMs: nowMs, writtenAtMs: contender?.writtenAtMs ?? longAgo });
      return { refused: share >= untilMs ? "share" : bytes >= untilMs ? "bytes" : "tokens" };
    }
    this.#reserved.add(key);
    return { afterMs: Math.max(fromMs, share, bytes, token) };
  }

  /** An aggregation of the object begins. */
  began(key: ObjectKey): void {
    if (this.#reserved.delete(key)) this.#inWork.add(key);
  }

  /** The status of the object, with so many cells, was sent to the core, whatever came of it. */
  wrote(key: ObjectKey, bytes: number, cells: number): void {
    const nowMs = this.#clock.monotonicMs();
    const takesMs = Math.min(bytesWaitMsMax, (bytes * Math.max(1, cells)) / coreBytesPerMs);
    const bytesDueMs = later(laterOf(this.#bytesDueMs, nowMs), takesMs);
    if (this.#inWork.delete(key)) {
      this.#bytesDueMs = bytesDueMs;
      this.#contends(key, { seenAtMs: nowMs, writtenAtMs: nowMs });
    } else {
      // A new leader, or an edit of many objects, would take the budget for minutes.
      const latestMs = laterOf(this.#bytesDueMs, later(nowMs, bytesWaitMsMax));
      this.#bytesDueMs = bytesDueMs < latestMs ? bytesDueMs : latestMs;
    }
  }

  /** The aggregation has ended. */
  ended(key: ObjectKey): void {
    if (this.#inWork.delete(key)) this.#tokens.giveBack();
  }

  /** The object is gone. */
  forget(key: ObjectKey): void {
    if (this.#reserved.delete(key)) this.#tokens.giveBack();
    this.#contenders.delete(key);
  }

  /** Nothing that was reserved will be written. */
  clear(): void {
    this.#reserved.forEach(() => this.#tokens.giveBack());
    this.#reserved.clear();
    this.#contenders.clear();
  }

  #contends(key: ObjectKey, contender: Contender): void {
    this.#contenders.delete(key);
    this.#contenders.set(key, contender);
  }

  #forgetContenders(nowMs: MonotonicMs): void {
    for (const [key, { seenAtMs }] of this.#contenders) {
      if (later(seenAtMs, contendsForMs) > nowMs) return;
      this.#contenders.delete(key);
    }
  }
}
