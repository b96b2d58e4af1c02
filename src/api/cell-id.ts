/**
 * The name of a cell (cell ID). It stands in the URL of a webhook, in the status of every PodProtector, in metrics and
 * in logs. So it is a value of a Kubernetes label that is not empty, wherever it comes from.
 */

/** For people. */
export const cellIDRule = "1 to 63 letters, digits and - _ . that begin and end with a letter or digit";

const cellID = /^[A-Za-z0-9](?:[-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

export function isCellID(text: string): boolean {
  return cellID.test(text);
}

/**
 * Stands for the cell of a pod that has none (docs/cells.md#cells-by-label), where its deletion is judged, and in
 * metrics and warnings. It is no valid cell ID, so nobody counts it, and no record can go there.
 */
export const noCellID = "-";
