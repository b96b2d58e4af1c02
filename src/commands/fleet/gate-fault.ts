/**
 * What is wrong with the webhook of a cell, as its aggregator has written it on the cell's Lease: it asks once a
 * minute, and every ten seconds while something is wrong (docs/aggregator.md#is-the-gate-still-there).
 */
import { type CellLease } from "../../api/cell-lease.ts";

export interface GateFault {
  readonly state: "gate missing" | "gate wrong" | "gate unreachable";
  /** For people, without a capital letter and a full stop. */
  readonly remark: string;
}

/** Aggregators write no name; the URL in the webhook configuration has it. */
function another(cell: string): string {
  return cell === "" ? "another cell: see the end of the URL in its webhook configuration" : `another cell: ${cell}`;
}

/** Undefined = nothing is known to be wrong. */
export function gateFaultOf({ gate }: Pick<CellLease, "gate">): GateFault | undefined {
  if (gate === undefined) return undefined;
  const [found, ...more] = gate.split(" ");
  const fault = (state: GateFault["state"], text: string): GateFault => {
    return { state, remark: `${text} (looked at every 10 s)` };
  };
  switch (found) {
    case "missing":
      return fault("gate missing", "its API server asks no webhook: any pod can be deleted there");
    case "unreachable":
      return fault(
        "gate unreachable",
        "its API server gets no decision from the webhook: deletions of pods are refused there; podseidon check says " +
          "why",
      );
    case "other-cell":
      return fault("gate wrong", `its API server asks the webhook for ${another(more.join(" "))}`);
    default:
      return fault("gate wrong", `its pod deletions are not reviewed as this cell's: ${gate}`);
  }
}
