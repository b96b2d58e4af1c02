/**
 * What probes tell about the gate: whether deletions of pods in the worker are reviewed by a webhook that was called
 * for this cell (docs/aggregator.md#is-the-gate-still-there). Pure: findings in, the beginnings and ends of faults out.
 */

/** The values of the gauge; see the document for what each one means. */
export const gateFindings = ["ok", "missing", "other-cell", "unreachable", "unknown"] as const;

export type Finding =
  | { readonly kind: "ok" }
  /** The deletion passed, and nobody of ours has seen it: the gate is open. */
  | { readonly kind: "missing" }
  /** The webhook was called for another cell, and so counts the pods of another cluster. */
  | { readonly kind: "other-cell"; readonly cell: string }
  /** The API server calls the webhook and gets no decision: the gate is closed, and refuses everything. */
  | { readonly kind: "unreachable"; readonly why: string }
  /** Nothing was found out. */
  | { readonly kind: "unknown"; readonly why: string; readonly isForbidden: boolean };

/** What is wrong with the gate. */
export type GateFault = Exclude<Finding, { readonly kind: "ok" | "unknown" }>;

export type GateChange =
  | { readonly kind: "began"; readonly fault: GateFault }
  | { readonly kind: "ended"; readonly fault: GateFault };

/**
 * Probes in a row that must find the same fault. One alone may have met an API server that has just started and does
 * not know its webhook configurations yet, a replica that was stopping, or a dummy pod that was just being deleted.
 */
const findingsMin = 2;

export class GateState {
  #fault: GateFault | undefined;
  #suspected: GateFault | undefined;
  #times = 0;
  #isKnown = false;

  /** The fault that holds. An unknown finding ends none. */
  get fault(): GateFault | undefined {
    return this.#fault;
  }

  /** A probe has told something since the term began. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Another look is wanted soon. */
  get isSuspicious(): boolean {
    return this.#suspected !== undefined;
  }

  /** Forgets all: another process may have led meanwhile. */
  reset(): void {
    this.#fault = undefined;
    this.#suspected = undefined;
    this.#isKnown = false;
  }

  /** Takes what a probe has found. The end of a fault that another one follows is not told. */
  found(finding: Finding): GateChange | undefined {
    if (finding.kind === "unknown") return undefined;
    if (finding.kind === "ok") {
      this.#isKnown = true;
      this.#suspected = undefined;
      const fault = this.#fault;
      this.#fault = undefined;
      return fault === undefined ? undefined : { kind: "ended", fault };
    }
    if (isSame(finding, this.#fault)) {
      this.#suspected = undefined;
      return undefined;
    }
    this.#times = isSame(finding, this.#suspected) ? this.#times + 1 : 1;
    this.#suspected = finding;
    if (this.#times < findingsMin) return undefined;
    this.#isKnown = true;
    this.#suspected = undefined;
    this.#fault = finding;
    return { kind: "began", fault: finding };
  }
}

function isSame(a: GateFault, b: GateFault | undefined): boolean {
  return a.kind === b?.kind && (a.kind !== "other-cell" || b.kind !== "other-cell" || a.cell === b.cell);
}
