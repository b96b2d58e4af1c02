/** Runs jobs with a bounded number of them in flight, in the order of arrival. */
export class Limiter {
  readonly #inFlightMax: number;
  readonly #waiting: (() => void)[] = [];
  #inFlight = 0;

  constructor(inFlightMax: number) {
    this.#inFlightMax = inFlightMax;
  }

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.#inFlight >= this.#inFlightMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#inFlight++;
    try {
      return await job();
    } finally {
      // A waiting job takes over this one's place, so the count stays.
      const next = this.#waiting.shift();
      if (next === undefined) this.#inFlight--;
      else next();
    }
  }

  all<I, O>(items: readonly I[], job: (item: I, index: number) => Promise<O>): Promise<O[]> {
    return Promise.all(items.map((item, index) => this.run(() => job(item, index))));
  }
}
