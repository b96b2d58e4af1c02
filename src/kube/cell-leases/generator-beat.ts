/**
 * For how long nothing has been heard of the generator, by the Lease that it renews beside those of the cells. As with
 * cells, silence is proven only by LISTs without a hole and while somebody's write was seen, and a generator that has
 * never had that Lease is not missed: an original one has none. A state machine without clock and requests.
 */
import { type Contact } from "../../accounting/silence/contact.ts";
import { type MonotonicMs } from "../../util/clock.ts";

export class GeneratorBeat {
  readonly #contact: Contact;
  #known: { readonly beat: string; readonly heardAt: MonotonicMs } | undefined;

  /** `contact` is told of each LIST before. */
  constructor(contact: Contact) {
    this.#contact = contact;
  }

  /**
   * To be called with each LIST that succeeded, and when it was answered. Without a beat the Lease is not there: one
   * that is deleted is one that is not renewed.
   */
  listed(beat: string | undefined, answeredAt: MonotonicMs): void {
    if (beat !== undefined && beat !== this.#known?.beat) this.#known = { beat, heardAt: answeredAt };
  }

  /** Milliseconds without a beat, as far as that is proven; undefined = no generator that beats has been seen yet. */
  unheardMs(): number | undefined {
    return this.#known === undefined ? undefined : Math.max(0, this.#contact.provenMs(this.#known.heardAt));
  }
}
