/** Lets many names take turns: some of them at a time, and none again before all have had one. */
export class Turns {
  readonly #max: number;
  /** These had their turn, until all have had one. */
  readonly #had = new Set<string>();

  /** @param max names at a time */
  constructor(max: number) {
    this.#max = max;
  }

  /** Those of `names` whose turn it is. Names that are not there any more are not waited for. */
  next(names: Iterable<string>): readonly string[] {
    const all = [...new Set(names)];
    if (all.every((name) => this.#had.has(name))) this.#had.clear();
    const turn = all.filter((name) => !this.#had.has(name)).slice(0, this.#max);
    for (const name of turn) this.#had.add(name);
    return turn;
  }
}
