/**
 * Reads the bodies of reviews. Whoever reaches the listener may send some, so what those under way hold together is
 * limited as well as each, and when there is no room the one that came first makes it: that of an API server is
 * complete in milliseconds, so it is the youngest. Small bodies have room of their own, which large ones cannot take.
 * The bytes come straight from Node's stream; the web stream of a Request costs as much as all the rest of a review.
 */
import { type Readable } from "node:stream";
import { type Clock, later, type MonotonicMs, type Timer } from "../../util/clock.ts";

/**
 * A review holds the object and the old object, each at most what the API server accepts in a request (3 MiB,
 * limitedReadBody of kube-apiserver), and about as much besides as fits into 1 MiB: user, options, kinds.
 */
export const bodyBytesMax = (3 + 3 + 1) * 1024 * 1024;

/** Nearly all pods have less than a tenth. Larger bodies share less room, and take turns (parse-turns.ts). */
export const smallBytesMax = 256 * 1024;

/** As many as fit into the 1 GiB of the manifests beside a heap of 512 MiB: 256 small ones at their largest. */
const smallHeldMax = 64 * 1024 * 1024;
/** Nine of the largest. */
const largeHeldMax = 64 * 1024 * 1024;

/** An API server sends a body in one go. A client that is slower than this for long only occupies room. */
const bytesPerSecondMin = 100_000;
/** Before the rate counts: lost packets are sent again after 0.2, 0.6 and 1.4 s. */
const rateGraceMs = 2_000;
/** How often the rates are looked at. */
const sweepMs = 500;

export type ReviewBody =
  | { readonly ok: true; readonly bytes: Buffer }
  /**
   * - `tooLarge`: more than `bodyBytesMax`;
   * - `full`: there was no room, and this one came first;
   * - `slow`: below the minimum rate, or not there before the deadline;
   * - `broken`: the client broke off.
   */
  | { readonly ok: false; readonly problem: "tooLarge" | "full" | "slow" | "broken" };

type Problem = Extract<ReviewBody, { readonly ok: false }>["problem"];

/** A body that is being read. */
interface Reading {
  readonly startMs: MonotonicMs;
  readonly deadlineMs: MonotonicMs;
  bytes: number;
  readonly refuse: (problem: Problem) => void;
}

/** Bodies that share room, in the order in which they came. */
class Room {
  readonly #bytesMax: number;
  readonly readings = new Set<Reading>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** `bytes` more of a body that is here. */
  take(reading: Reading, bytes: number): void {
    this.readings.add(reading);
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) {
      const [first] = this.readings;
      if (first === undefined) return;
      first.refuse("full");
    }
  }

  leave(reading: Reading): void {
    if (this.readings.delete(reading)) this.#bytes -= reading.bytes;
  }
}

export class ReviewBodies {
  readonly #clock: Clock;
  readonly #small = new Room(smallHeldMax);
  readonly #large = new Room(largeHeldMax);
  /** Set while bodies are read: one for all of them. */
  #sweep: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Never rejects. A body that is refused is no longer read; `declaredLength` (Content-Length, if any) refuses one
   * before it is read at all. `deadlineMs`: of the review.
   */
  read(source: Readable, declaredLength: string | undefined, deadlineMs: MonotonicMs): Promise<ReviewBody> {
    return new Promise((resolve) => {
      if (declaredLength !== undefined && Number(declaredLength) > bodyBytesMax) {
        source.pause();
        return resolve({ ok: false, problem: "tooLarge" });
      }
      const chunks: Buffer[] = [];
      let room = Number(declaredLength ?? 0) > smallBytesMax ? this.#large : this.#small;
      const end = (body: ReviewBody): void => {
        room.leave(reading);
        this.#sweepNoMore();
        source.off("data", take);
        chunks.length = 0;
        resolve(body);
      };
      const refuse = (problem: Problem): void => {
        source.pause();
        end({ ok: false, problem });
      };
      const reading: Reading = { startMs: this.#clock.monotonicMs(), deadlineMs, bytes: 0, refuse };
      const take = (chunk: Buffer): void => {
        chunks.push(chunk);
        if (reading.bytes + chunk.length > bodyBytesMax) return refuse("tooLarge");
        let added = chunk.length;
        if (room === this.#small && reading.bytes + added > smallBytesMax) {
          room.leave(reading);
          room = this.#large;
          added += reading.bytes;
        }
        reading.bytes += chunk.length;
        room.take(reading, added);
      };
      room.take(reading, 0);
      this.#sweepLater();
      source.on("data", take);
      source.on("end", () => {
        const [first] = chunks;
        end({ ok: true, bytes: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks) });
      });
      // Without an end before it: the client has left.
      source.on("close", () => {
        if (!source.readableEnded) refuse("broken");
      });
      source.on("error", () => refuse("broken"));
    });
  }

  /**
   * After a standstill of the process (no CPU, a long garbage collection) timers come before sockets: what came
   * meanwhile is read before the bodies are judged, at the next sweep.
   */
  #sweepLater(isAfterStandstill = false): void {
    const dueMs = later(this.#clock.monotonicMs(), sweepMs);
    this.#sweep ??= this.#clock.setTimer(sweepMs, () => {
      this.#sweep = undefined;
      const nowMs = this.#clock.monotonicMs();
      if (!isAfterStandstill && nowMs - dueMs > sweepMs) return this.#sweepLater(true);
      const readings = [...this.#small.readings, ...this.#large.readings];
      for (const reading of readings) if (isSlow(reading, nowMs)) reading.refuse("slow");
      if (this.#small.readings.size + this.#large.readings.size > 0) this.#sweepLater();
    });
  }

  #sweepNoMore(): void {
    if (this.#small.readings.size + this.#large.readings.size > 0) return;
    this.#sweep?.cancel();
    this.#sweep = undefined;
  }
}

function isSlow({ startMs, deadlineMs, bytes }: Reading, nowMs: MonotonicMs): boolean {
  const expected = ((nowMs - startMs - rateGraceMs) / 1000) * bytesPerSecondMin;
  return nowMs >= deadlineMs || bytes < expected;
}
