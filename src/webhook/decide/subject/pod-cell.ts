/**
 * The cell of a pod that a review is about: the end of the webhook's URL names it, or, with --webhook-cell-label, a
 * label of the pod (docs/cells.md#cells-by-label). The webhook configuration cannot do the latter: an eviction shows it
 * an Eviction, which has no labels of the pod.
 */
import { noCellID } from "../../../api/cell-id.ts";
import { type Labels } from "../../../api/pod.ts";
import { printable } from "../../../util/printable.ts";
import { type Deletion } from "../../deletion.ts";
import { type Cause, type Refused } from "../decision.ts";

/** Cells named in a message, so that a person can read it. */
const namedMax = 8;

export type PodCell =
  | { readonly ok: true; readonly cellID: string }
  /** `reason`, for people: what is wrong with the label, after "the pod has no cell: ". `advice`: what to do. */
  | { readonly ok: false; readonly cellID: typeof noCellID; readonly reason: string; readonly advice: string };

export class PodCells {
  /** Of the pod; undefined = the URL names the cell. */
  readonly label: string | undefined;
  readonly #served: ReadonlyMap<string, PodCell>;
  readonly #names: string;

  /** `served`: the values of the label that are cells. */
  constructor(label: string | undefined, served: ReadonlySet<string>) {
    this.label = label;
    this.#served = new Map(Array.from(served, (cellID) => [cellID, { ok: true, cellID }]));
    const names = [...served].slice(0, namedMax).map((cellID) => JSON.stringify(cellID));
    const more = served.size - names.length;
    this.#names = `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  }

  /** `urlCell`: the end of the URL. */
  of(labels: Labels, urlCell: string): PodCell {
    const { label } = this;
    if (label === undefined) return { ok: true, cellID: urlCell };
    const value = Object.hasOwn(labels, label) ? labels[label] : undefined;
    return (value === undefined ? undefined : this.#served.get(value)) ?? this.#none(label, value);
  }

  #none(label: string, value: string | undefined): PodCell {
    const shown = value === undefined ? "" : printable(JSON.stringify(value));
    const reason =
      value === undefined
        ? `it lacks the label ${label} (--webhook-cell-label)`
        : `its label ${label} (--webhook-cell-label) is ${shown}, which is none of --webhook-allowed-cells`;
    const what = value === undefined ? "Give the pod this label" : "Make the pod again with this label";
    return { ok: false, cellID: noCellID, reason, advice: `${what}, with the name of a cell: ${this.#names}` };
  }
}

/**
 * The refusal of a deletion in no cell, in place of `judged`, which is what its PodProtectors say to a deletion in an
 * uncounted cell. Waiting does not help, so it is no 429.
 */
export function withoutCell(
  { pod }: Pick<Deletion, "pod">,
  cell: Extract<PodCell, { readonly ok: false }>,
  judged: Refused,
): Refused {
  // That is so in every cell.
  if (judged.status === "ProtectorUnusable" || judged.status === "ProtectorLost") return judged;
  const causes = judged.causes.map((cause): Cause => ({ ...cause, reason: "UnknownCell", message: cell.reason }));
  const ids = causes.flatMap(({ field }) => (field === undefined ? [] : [field]));
  return {
    kind: "refused",
    status: "UnknownCell",
    code: 503,
    reason: "ServiceUnavailable",
    message:
      `Pod ${pod.namespace}/${pod.name} has no cell: ${cell.reason}. So no aggregator counts it for PodProtector ` +
      `${ids[0] ?? ""}${ids.length > 1 ? ` and ${ids.length - 1} more` : ""}. ${cell.advice}`,
    causes,
    audit: judged.audit,
  };
}
