/**
 * Cells that somebody vouches for: a flag names them, or an aggregator has counted them in some PodProtector. A cell
 * comes from a URL that anyone may call, and a deletion creates none, so no stranger can make one known. The others are
 * decided like these, but get no label value of their own, and no evicted pod is read for them.
 */
import { noCellID } from "../api/cell-id.ts";

/** A fleet of more clusters than this is not known; later ones stay unknown. */
const knownMax = 1_000;

export class KnownCells {
  readonly #cells: Set<string>;

  /** `named`: by the flags. */
  constructor(named: Iterable<string>) {
    this.#cells = new Set([noCellID, ...named]);
  }

  has(cellID: string): boolean {
    return this.#cells.has(cellID);
  }

  /** Whether nobody has vouched for any cell yet, as in a core that is new. */
  get isEmpty(): boolean {
    return this.#cells.size === 1;
  }

  /** An aggregator has counted it; known until the process ends. */
  counted(cellID: string): void {
    if (this.#cells.size < knownMax) this.#cells.add(cellID);
  }
}
