/**
 * For how long nothing has been heard of the generator, by the Lease that it renews beside those of the cells. As with
 * cells, silence is proven only by LISTs without a hole, and a generator that has never had that Lease is not missed:
 * an original one has none. A state machine without clock and requests.
 */
import { type MonotonicMs } from "../../util/clock.ts";

/** What a LIST of the Leases has shown of it. */
export interface SeenBeat {
  /** Undefined = the Lease is not there. */
  readonly beat: string | undefined;
  /** Of the LIST: before its first request, and after its last answer. */
  readonly sentAt: MonotonicMs;
  readonly answeredAt: MonotonicMs;
}

export class GeneratorBeat {
  /** A hole between two LISTs that is longer, in milliseconds, starts the silence at zero. */
  readonly #contactMs: number;
  #known: { readonly beat: string; readonly heardAt: MonotonicMs } | undefined;
  #sentAt: MonotonicMs | undefined;

  constructor(contactMs: number) {
    this.#contactMs = contactMs;
  }

  /** To be called with each LIST that succeeded. A Lease that is deleted is one that is not renewed. */
  listed({ beat = this.#known?.beat, sentAt, answeredAt }: SeenBeat): void {
    const hasHole = answeredAt - (this.#sentAt ?? sentAt) > this.#contactMs;
    this.#sentAt = sentAt;
    if (beat === undefined || (beat === this.#known?.beat && !hasHole)) return;
    this.#known = { beat, heardAt: answeredAt };
  }

  /** Milliseconds without a beat, up to the last LIST; undefined = no generator that beats has been seen yet. */
  unheardMs(): number | undefined {
    if (this.#known === undefined || this.#sentAt === undefined) return undefined;
    return Math.max(0, this.#sentAt - this.#known.heardAt);
  }
}
