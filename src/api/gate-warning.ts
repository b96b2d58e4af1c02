/**
 * How the webhook says that it is there: the admission warning with which it answers a dry-run deletion of the
 * update-trigger's dummy pod. The aggregator of the cell asks for it once a minute
 * (docs/aggregator.md#is-the-gate-still-there).
 */
const beginning = "podseidon: reviewed as cell ";
const releaseBeginning = "podseidon: reviewed by release ";

/** The warning of a webhook that was called for this cell. */
export function gateWarning(cellID: string): string {
  return `${beginning}${cellID}`;
}

/** The release of the webhook that answers, in a warning of its own: earlier releases take the first one apart. */
export function releaseWarning(productVersion: string): string {
  return `${releaseBeginning}${productVersion}`;
}

/** The release that a warning names; undefined = it is another warning. */
export function releaseOfWarning(warning: string): string | undefined {
  return warning.startsWith(releaseBeginning) ? warning.slice(releaseBeginning.length) : undefined;
}

/** The cell that a warning names; undefined = it is another's warning. */
export function cellOfGateWarning(warning: string): string | undefined {
  return warning.startsWith(beginning) ? warning.slice(beginning.length) : undefined;
}
