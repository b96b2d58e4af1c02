/**
 * Which cells are served. A cell comes from a URL that anyone may call: an invalid one is refused here, before it gets
 * into a metric, a log or a status.
 */
import { cellIDRule, isCellID } from "../../api/cell-id.ts";

/** How the URL of a webhook ends that reads the cell from a label of the pod. */
const byLabel = "by-label";

/** A fleet of more clusters than this is not known; the names of further cells are checked each time. */
const knownMax = 1_000;

export interface UnservedCell {
  /** The word of the metric. */
  readonly tag: "CellNotAllowed" | "InvalidCell";
  /** For people. */
  readonly message: string;
}

export class ServedCells {
  readonly #allowed: ReadonlySet<string> | undefined;
  readonly #label: string | undefined;
  /** Valid names. */
  readonly #known: Set<string>;

  /**
   * `allowed`: valid names; empty = all cells are served. `label`: what names the cell in place of the URL, which then
   * ends with a fixed word: so a webhook configuration of another cluster, or from before, does not fit by accident.
   */
  constructor(allowed: ReadonlySet<string>, label?: string) {
    this.#allowed = allowed.size > 0 ? allowed : undefined;
    this.#label = label;
    this.#known = new Set(label === undefined ? allowed : [byLabel]);
  }

  /** Why the cell is not served; undefined = it is. */
  refusal(cellID: string): UnservedCell | undefined {
    // Nearly all reviews.
    if (this.#known.has(cellID)) return undefined;
    if (!isCellID(cellID)) {
      const message = `the last part of the URL is not a cell: ${cellIDRule} (--aggregator-cell-id)`;
      return { tag: "InvalidCell", message };
    }
    if (this.#label !== undefined) {
      const message =
        `the URL ends with ${JSON.stringify(cellID)}, but this webhook reads the cell from the label ${this.#label} ` +
        `of the pod (--webhook-cell-label): its URL must end with /${byLabel}`;
      return { tag: "CellNotAllowed", message };
    }
    if (this.#allowed !== undefined) {
      const message =
        `the cell ${JSON.stringify(cellID)} is not served by this webhook ` +
        "(--webhook-allowed-cells, --webhook-client-cells)";
      return { tag: "CellNotAllowed", message };
    }
    if (this.#known.size < knownMax) this.#known.add(cellID);
    return undefined;
  }
}
