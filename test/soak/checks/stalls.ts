/**
 * Whether this process was kept from running: what takes long then is the machine's fault. All processes of a soak
 * share the machine, so one that stalls stands for the others.
 */
const tickMs = 250;
/** Later than that, requests of seconds may have run into their deadlines. */
const lateMs = 1_000;
/** A request that is behind a stall begins up to a deadline after it. */
const aftermathMs = 10_000;

export class Stalls {
  readonly #nowMs: () => number;
  #tickedMs: number;
  #stalledMs = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#tickedMs = nowMs();
  }

  /** Watches this process until it ends. */
  watch(): void {
    setInterval(() => this.tick(), tickMs).unref();
  }

  /** Called every quarter of a second, or later by as much as the process stalls. */
  tick(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#tickedMs > tickMs + lateMs) {
      this.#stalledMs = nowMs;
      this.#count += 1;
    }
    this.#tickedMs = nowMs;
  }

  get count(): number {
    return this.#count;
  }

  /** True when what began then, and has ended, may have suffered from a stall. */
  hit(beganMs: number): boolean {
    this.tick();
    return this.#stalledMs >= beganMs - aftermathMs;
  }
}
