/** The cells of a core by their Leases, and the Lease of the generator (docs/cells.md). */
import { type CellGlance, glanceAt } from "../../accounting/silence/glance.ts";
import { cellLeaseLabels, type CellLease, readCellLease } from "../../api/cell-lease.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { leases } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";
import { type EpochMicros } from "../../util/clock.ts";

export interface FleetCell {
  readonly cellID: string;
  readonly lease: CellLease;
  readonly glance: CellGlance;
}

export interface FleetCells {
  /** By cell, in the order of their names. */
  readonly cells: ReadonlyMap<string, FleetCell>;
  /** Of the generator that marks silent cells; undefined = there is none. */
  readonly observer: { readonly lease: CellLease; readonly glance: CellGlance } | undefined;
}

/** A Lease whose list of objects is full has 60 kB. */
const pageSize = 100;

/** `now`: the wall clock of whoever looks. Throws KubeError. */
export async function listCells(
  client: KubeClient,
  leaseNamespace: string,
  now: () => EpochMicros,
  signal: AbortSignal,
): Promise<FleetCells> {
  const found: CellLease[] = [];
  await listAll(
    client,
    { resource: leases, namespace: leaseNamespace, labelSelector: cellLeaseLabels.heartbeat },
    (raw) => {
      const lease = readCellLease(raw);
      if (lease !== undefined) found.push(lease);
    },
    { signal, pageSize },
  );
  const at = now();
  const observer = found.find(({ cellID }) => cellID === undefined);
  const cells = found.flatMap((lease): FleetCell[] =>
    lease.cellID === undefined ? [] : [{ cellID: lease.cellID, lease, glance: glanceAt(lease, at) }],
  );
  const byName = cells.sort((a, b) => (a.cellID < b.cellID ? -1 : 1));
  return {
    cells: new Map(byName.map((cell) => [cell.cellID, cell])),
    observer: observer === undefined ? undefined : { lease: observer, glance: glanceAt(observer, at) },
  };
}
