/**
 * Between which moments the silence of somebody in a core is news of it, as one observer of the Leases knows
 * (docs/accounting.md#silent-cells). Two things are needed: the observer lists again and again, and the core takes
 * writes of such Leases. Where it takes none (a full etcd, a policy, an API server that hangs), nobody can be heard,
 * and one cause would pass for the deaths of all. A write of anyone is proof: a beat of another cell or of the
 * generator, or the observer's own where nobody else writes. A state machine without clock and requests.
 */
import { type CellLease } from "../../api/cell-lease.ts";
import { laterOf, type MonotonicMs } from "../../util/clock.ts";
import { type SilenceTimes } from "./silence-times.ts";

/** The answer to one LIST of all Leases with the label of heartbeats. */
export interface AnsweredList {
  /** Before its first request. */
  readonly sentAt: MonotonicMs;
  /** After its last answer. */
  readonly answeredAt: MonotonicMs;
  readonly leases: readonly CellLease[];
}

export class Contact {
  readonly #times: Pick<SilenceTimes, "contactMs">;
  #from: MonotonicMs;
  #until: MonotonicMs;
  #last: AnsweredList | undefined;

  constructor(times: Pick<SilenceTimes, "contactMs">, startedAt: MonotonicMs) {
    this.#times = times;
    this.#from = startedAt;
    this.#until = startedAt;
  }

  /** The answer to the first LIST since the start, or since the last hole. Silence counts from here at the earliest. */
  get from(): MonotonicMs {
    return this.#from;
  }

  /** The sending of the last LIST that a write is known to have come before. Silence is proven up to here. */
  get until(): MonotonicMs {
    return this.#until;
  }

  listed(list: AnsweredList): void {
    const before = this.#last;
    this.#last = list;
    if (before === undefined) {
      this.#from = list.answeredAt;
      this.#until = list.sentAt;
      return;
    }
    const beats = new Map(before.leases.map(({ name, beat }) => [name, beat]));
    if (list.leases.some(({ name, beat }) => beats.get(name) !== beat)) this.wrote();
  }

  /**
   * Somebody's write was carried out between the last two LISTs, or the observer's own after the last one. Where that
   * ends a hole, whether nobody listed or nobody could write, everything begins at zero.
   */
  wrote(): void {
    if (this.#last === undefined) return;
    const { sentAt, answeredAt } = this.#last;
    if (answeredAt - this.#until > this.#times.contactMs) this.#from = answeredAt;
    this.#until = sentAt;
  }

  /** Milliseconds for which it is proven that something has lasted since `moment`; not above 0 = for none. */
  provenMs(moment: MonotonicMs): number {
    return this.#until - laterOf(moment, this.#from);
  }

  /** The last LIST shows nobody's write: up to it, silence is proven by a write of the observer only. */
  lacksWrite(): boolean {
    return this.#last !== undefined && this.#last.sentAt > this.#until;
  }

  /**
   * For how long the core has taken no write of a Lease, in milliseconds, when that is longer than anybody's beats are
   * apart and the core could be read meanwhile; undefined = it takes writes, as far as is known.
   */
  unwrittenForMs(at: MonotonicMs): number | undefined {
    const { contactMs } = this.#times;
    if (this.#last === undefined || at - this.#last.sentAt > contactMs) return undefined;
    return this.#last.answeredAt - this.#until > contactMs ? at - this.#until : undefined;
  }
}
