/** Under which name the aggregators of a cell elect their leader, in the worker cluster. */
import { hash } from "node:crypto";

/** Upstream's name. It stays that of the cell "default", which most installations of one cluster have. */
const base = "podseidon-aggregator";

/**
 * One Lease for each cell, since a worker cluster may hold several cells and each needs a leader. Names of Leases are
 * lower case: a cell's name that is not a DNS name as it is gets a digest, so that no two cells share a Lease.
 */
export function aggregatorLeaseName(cellID: string): string {
  if (cellID === "default") return base;
  if (/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(cellID)) return `${base}-${cellID}`;
  const plain = cellID.toLowerCase().replaceAll(/[^-a-z0-9]/g, "-");
  return `${base}-${plain}-${hash("sha256", cellID, "hex").slice(0, 8)}`;
}
