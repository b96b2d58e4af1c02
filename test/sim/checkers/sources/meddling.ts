/**
 * What people and disasters do to generated PodProtectors, told before they do it: no checker knows of a committed
 * change who made it.
 */
/** Which change of a PodProtector is none of a generator's. A selector may become any other one. */
export type Meddled =
  | `minAvailable ${number}`
  | `minReadySeconds ${number}`
  | "selector"
  /** Somebody asks for its release, where its source is gone. */
  | "release"
  /** The core loses it. */
  | "loss";

export class Meddling {
  readonly #toldAtMs = new Map<string, number>();

  told(key: string, what: Meddled, nowMs: number): void {
    this.#toldAtMs.set(`${key} ${what}`, nowMs);
  }

  /** Somebody may be doing it who was to do it at `fromMs` or later. */
  mayBe(key: string, what: Meddled, fromMs: number): boolean {
    return (this.#toldAtMs.get(`${key} ${what}`) ?? Number.NEGATIVE_INFINITY) >= fromMs;
  }
}
