/**
 * The cells of a core by their Leases, and the Lease of the generator (docs/cells.md).
 *
 * What is wrong with the webhook of a cell, as its aggregator has written it on the cell's Lease: it asks once a
 * minute, and every ten seconds while something is wrong (docs/aggregator.md#is-the-gate-still-there).
 */
import { type CellGlance, glanceAt, unwrittenForMs } from "../../accounting/silence/glance.ts";
import {
  type CellLease,
  cellLeaseLabels,
  namespacesNotGuarded,
  observerLeaseName,
  readCellLease,
} from "../../api/cell-lease.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { leases } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { ageText } from "../text/format.ts";

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
  /** For how long nobody could be heard, in milliseconds; undefined = somebody was. */
  readonly unwrittenForMs?: number | undefined;
}

/** Of a core in which nobody is heard, for people; undefined = somebody is. A clause without a full stop. */
export function unwrittenText({ unwrittenForMs: ms }: Pick<FleetCells, "unwrittenForMs">): string | undefined {
  if (ms === undefined) return undefined;
  return (
    `nobody has written a heartbeat for ${ageText(ms)}: the core takes no writes (is its etcd full?), or nothing of ` +
    "Podseidon runs"
  );
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
  const unwritten = unwrittenForMs(found, at);
  const observer = found.find(({ name }) => name === observerLeaseName);
  const cells = found.flatMap((lease): FleetCell[] =>
    lease.cellID === undefined ? [] : [{ cellID: lease.cellID, lease, glance: glanceAt(lease, at, unwritten) }],
  );
  const byName = cells.sort((a, b) => (a.cellID < b.cellID ? -1 : 1));
  return {
    cells: new Map(byName.map((cell) => [cell.cellID, cell])),
    observer: observer === undefined ? undefined : { lease: observer, glance: glanceAt(observer, at, unwritten) },
    unwrittenForMs: unwritten,
  };
}

export interface GateFault {
  readonly state: "gate missing" | "gate wrong" | "gate unreachable" | "gate has gaps";
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
  const namespaces = namespacesNotGuarded(gate)?.join(", ");
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
    case "not-guarded":
      return fault(
        "gate has gaps",
        `deletions in namespaces ${namespaces} are not sent to the webhook, so no floor holds there; podseidon check ` +
          "says why",
      );
    default:
      return fault("gate wrong", `its pod deletions are not reviewed as this cell's: ${gate}`);
  }
}
