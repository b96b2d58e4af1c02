/**
 * How the webhook says that it is there: the admission warning with which it answers a dry-run deletion of the
 * update-trigger's dummy pod. The aggregator of the cell asks for it once a minute
 * (docs/aggregator.md#is-the-gate-still-there).
 */
const beginning = "podseidon: reviewed as cell ";

/** The warning of a webhook that was called for this cell. */
export function gateWarning(cellID: string): string {
  return `${beginning}${cellID}`;
}

/** The cell that a warning names; undefined = it is another's warning. */
export function cellOfGateWarning(warning: string): string | undefined {
  return warning.startsWith(beginning) ? warning.slice(beginning.length) : undefined;
}
