/**
 * Whether availability ever fell below a floor: the changes that the workers saw, each in a process of its own, put
 * into one order by the monotonic clock of the machine.
 */
export interface AvailabilityChange {
  /** Monotonic clock of the machine, which all processes share. */
  readonly atMs: number;
  readonly service: string;
  /** Available pods more than before. */
  readonly by: number;
}

/** What one worker saw since it was asked last, and until when. */
export interface SeenChanges {
  readonly untilMs: number;
  readonly changes: readonly AvailabilityChange[];
}

export class FloorWatch {
  readonly #floors: ReadonlyMap<string, number>;
  readonly #available = new Map<string, number>();
  #waiting: AvailabilityChange[] = [];
  #isGuarded = false;
  #leastSpare = Number.POSITIVE_INFINITY;
  readonly #breaches: string[] = [];

  /** Services without a floor are not watched. */
  constructor(floors: ReadonlyMap<string, number>) {
    this.#floors = floors;
  }

  /** From now on, nothing may be below its floor. Before, pods are still coming up. */
  guard(): void {
    this.#isGuarded = true;
    for (const service of this.#floors.keys()) this.#judge(service);
  }

  /** One answer of each worker. What is later than the earliest answer waits for the next ones. */
  add(seen: readonly SeenChanges[]): void {
    const untilMs = Math.min(...seen.map((one) => one.untilMs));
    const known = [...this.#waiting, ...seen.flatMap(({ changes }) => changes)].toSorted((a, b) => a.atMs - b.atMs);
    this.#waiting = known.filter(({ atMs }) => atMs > untilMs);
    for (const { service, by, atMs } of known) {
      if (atMs > untilMs) break;
      this.#available.set(service, (this.#available.get(service) ?? 0) + by);
      if (this.#isGuarded) this.#judge(service);
    }
  }

  /** One line for each moment below a floor. */
  get breaches(): readonly string[] {
    return this.#breaches;
  }

  /** The least that was ever available above a floor. */
  get leastSpare(): number {
    return this.#leastSpare;
  }

  #judge(service: string): void {
    const floor = this.#floors.get(service);
    if (floor === undefined) return;
    const available = this.#available.get(service) ?? 0;
    this.#leastSpare = Math.min(this.#leastSpare, available - floor);
    if (available < floor) this.#breaches.push(`${service}: ${available} pods were available, ${floor} must stay`);
  }
}
