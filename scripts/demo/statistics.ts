/** Pure statistics of what was observed: availability over time, and how the run is judged. */

/** The availability of a service within one slot of time: the lowest in it, and the last. */
export interface Point {
  readonly atMs: number;
  readonly lowest: number;
  readonly last: number;
}

/** Availability over time in slots, so that a burst of changes costs one point, and no low is lost. */
export class Series {
  readonly #slotMs: number;
  readonly #points: Point[] = [];
  #lowest: number | undefined;

  constructor(slotMs: number) {
    this.#slotMs = slotMs;
  }

  /** Times must not go back. */
  add(atMs: number, value: number): void {
    this.#lowest = Math.min(this.#lowest ?? value, value);
    const slot = Math.floor(atMs / this.#slotMs) * this.#slotMs;
    const last = this.#points.at(-1);
    if (last === undefined || slot > last.atMs) this.#points.push({ atMs: slot, lowest: value, last: value });
    else this.#points[this.#points.length - 1] = { atMs: last.atMs, lowest: Math.min(last.lowest, value), last: value };
  }

  get points(): readonly Point[] {
    return this.#points;
  }

  /** The lowest value ever added; undefined when there is none. */
  get lowest(): number | undefined {
    return this.#lowest;
  }
}

/** Requests to delete pods, as the one who sent them saw them. */
export interface Deletions {
  readonly tried: number;
  readonly admitted: number;
  /** Answered with 429. */
  readonly refused: number;
  /** The API server got no answer from the webhook. */
  readonly unanswered: number;
}

/** One row of the result. */
export interface ServiceResult {
  readonly name: string;
  readonly replicas: number;
  readonly floor: number;
  /** Lowest number of available pods since the floor was in force. */
  readonly lowestWith: number;
  /** The same in the disaster without Podseidon. */
  readonly lowestWithout: number;
  readonly deletions: Deletions;
}

/** How an act that has to succeed went. */
export interface ActResult {
  readonly title: string;
  /** Undefined = it went through. */
  readonly problem: string | undefined;
}

/** Everything that makes the run a failure, in sentences; empty = it holds. */
function problemsOf(services: readonly ServiceResult[], acts: readonly ActResult[]): readonly string[] {
  return [
    ...services
      .filter(({ lowestWith, floor }) => lowestWith < floor)
      .map(
        ({ name, lowestWith, floor }) =>
          `${name} fell to ${lowestWith} available pods with Podseidon; its floor is ${floor}`,
      ),
    ...acts.flatMap(({ title, problem }) => (problem === undefined ? [] : [`${title}: ${problem}`])),
  ];
}

/**
 * Whether the run holds, in sentences, and the exit code that says so: 1 when a floor was broken or an act did not go
 * through.
 */
export interface Verdict {
  readonly exitCode: 0 | 1;
  readonly sentences: readonly string[];
}

/** Judges a run by what was measured. */
export function verdictOf(services: readonly ServiceResult[], acts: readonly ActResult[]): Verdict {
  const problems = problemsOf(services, acts);
  if (problems.length > 0) return { exitCode: 1, sentences: problems };
  const sum = (value: (service: ServiceResult) => number): number =>
    services.reduce((total, service) => total + value(service), 0);
  const fell = services.filter(({ lowestWithout, floor }) => lowestWithout < floor).length;
  return {
    exitCode: 0,
    sentences: [
      `With Podseidon every floor held: of ${sum(({ replicas }) => replicas)} pods at least ` +
        `${sum(({ lowestWith }) => lowestWith)} stayed.`,
      `Without it ${fell} of ${services.length} services fell under their floors: ` +
        `${sum(({ lowestWithout }) => lowestWithout)} pods were left.`,
    ],
  };
}

/**
 * Why the disaster is lost, or proves nothing; undefined = the floors were put to the test and stand. `isQuiet`:
 * nothing is admitted any more.
 */
export function disasterProblem(
  services: readonly { readonly left: number; readonly floor: number; readonly deletions: Deletions }[],
  isQuiet: boolean,
): string | undefined {
  if (services.some(({ left, floor }) => left < floor)) return "a service was left under its floor";
  if (services.every(({ deletions }) => deletions.admitted === 0))
    return "no deletion was admitted, though each floor leaves room for some";
  if (services.every(({ deletions }) => deletions.refused === 0))
    return "no deletion was refused, so no floor was put to the test";
  return isQuiet ? undefined : "deletions were still being admitted when the time was over";
}
