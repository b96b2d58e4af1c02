/**
 * Which cell a worker is, in the three places that say so: the URL that its API server calls, the aggregator that runs
 * there, and the Lease with the UID of the cluster (docs/cells.md#names).
 */
import { type CellFacts, type CoreFacts, type WorkerFacts } from "../facts.ts";
import { fail, type Finding, namesText, ok, unchecked } from "../finding.ts";

const names = "docs/cells.md#names";
/** How the URL of a webhook ends that reads the cell from a label of the pod. */
const byLabel = "by-label";

export interface WorkerCells {
  /** By the Leases that carry the UID of the cluster: it counts as these. */
  readonly reported: readonly string[];
  /** By the arguments of its aggregators. */
  readonly configured: readonly string[];
  /** By the URLs of its webhook configurations, without those that leave it to a label. */
  readonly called: readonly string[];
}

export function cellsOf({ clusterUID, deployments, entries }: WorkerFacts, cores: readonly CoreFacts[]): WorkerCells {
  const leases = cores.flatMap(({ heartbeats }) => (heartbeats.ok ? heartbeats.value.cells : []));
  const own = clusterUID.ok ? leases.filter(({ lease }) => lease.clusterUID === clusterUID.value) : [];
  const flags = deployments.ok ? deployments.value.map((one) => one.flags.get("aggregator-cell-id")) : [];
  const urls = entries.ok ? entries.value.map(({ cell }) => cell) : [];
  return {
    reported: distinct(own.map(({ cellID }) => cellID)),
    configured: distinct(flags.filter((cell) => cell !== undefined)),
    called: distinct(urls.filter((cell) => cell !== byLabel)),
  };
}

/** `others`: the cells of the other workers that were given. */
export function workerCellFindings(
  worker: WorkerFacts,
  cores: readonly CoreFacts[],
  others: ReadonlyMap<string, WorkerFacts>,
): readonly Finding[] {
  const cells = cellsOf(worker, cores);
  const shared = sharedFindings(worker, cells, cores, others);
  const own = new Set([...cells.reported, ...cells.configured]);
  const foreign = new Set(shared.map(({ cellID }) => cellID));
  const wrong = own.size === 0 ? [] : cells.called.filter((cell) => !own.has(cell) && !foreign.has(cell));
  const findings: Finding[] = [
    ...shared.map(({ finding }) => finding),
    ...wrong.map((cell) => wrongCell(cell, own)),
    ...misnamed(worker, own),
  ];
  if (findings.length > 0) return findings;
  if (cells.reported.length === 0) {
    const why = whyUnknown(worker, cores);
    if (why !== undefined) return [unchecked("webhook-cell", "the cell of this cluster", why)];
  }
  if (own.size === 0) {
    const text = "no Lease in the core has the UID of this cluster, and no aggregator of it was found here";
    const cure = "start an aggregator for it, and let it read the namespace kube-system";
    return [fail("aggregator", text, { cure, page: "docs/cells.md#add-a-cell" })];
  }
  if (cells.reported.length === 0) {
    const text = `the aggregator of cell "${namesText([...own])}" has not reported to the core from this cluster`;
    const cure = "look at its log: it may not reach the core, or may not write its Lease";
    return [fail("aggregator", text, { cure, page: "docs/aggregator.md#heartbeat" })];
  }
  return [ok("webhook-cell", `this cluster is cell "${namesText(cells.reported)}", and is called so`)];
}

/** Why no cell can be found that reports from this cluster; undefined = there is none. */
function whyUnknown({ clusterUID }: WorkerFacts, cores: readonly CoreFacts[]): string | undefined {
  if (!clusterUID.ok) return clusterUID.why;
  for (const { heartbeats } of cores) if (!heartbeats.ok) return heartbeats.why;
  return undefined;
}

function wrongCell(cell: string, own: ReadonlySet<string>): Finding {
  const cells = namesText([...own]);
  const text = `the webhook configuration calls /${cell}, but this cluster's aggregator reports as "${cells}"`;
  return fail("webhook-cell", text, {
    cure: `end the URL with /${[...own][0]} in all entries, or give the aggregator --aggregator-cell-id=${cell}`,
    page: names,
  });
}

/** A person has given it for a cell that it is not. */
function misnamed({ name, isNamed }: WorkerFacts, own: ReadonlySet<string>): readonly Finding[] {
  if (!isNamed || own.size === 0 || own.has(name)) return [];
  const cells = namesText([...own]);
  return [
    fail("webhook-cell", `you call this cluster "${name}", but its aggregator reports as "${cells}"`, {
      cure: `set --aggregator-cell-id=${name}, or run this check with --worker ${[...own][0]}=CONTEXT`,
      page: names,
    }),
  ];
}

interface Shared {
  readonly cellID: string;
  readonly finding: Finding;
}

/** Cells that this cluster claims and another one holds. */
function sharedFindings(
  worker: WorkerFacts,
  { reported, configured, called }: WorkerCells,
  cores: readonly CoreFacts[],
  others: ReadonlyMap<string, WorkerFacts>,
): readonly Shared[] {
  const { clusterUID } = worker;
  if (!clusterUID.ok) return [];
  // A cluster that reports under another name has a wrong URL, and shares nothing.
  const claimed = distinct([...configured, ...(reported.length === 0 && configured.length === 0 ? called : [])]);
  const leases = cores.flatMap(({ heartbeats }) => (heartbeats.ok ? heartbeats.value.cells : []));
  return claimed.flatMap((cellID) => {
    const holder = leases.find((cell) => cell.cellID === cellID && isOfOther(cell, clusterUID.value));
    return holder === undefined ? [] : [{ cellID, finding: sharedCell(cellID, holder, others) }];
  });
}

function isOfOther({ lease }: CellFacts, clusterUID: string): boolean {
  return lease.clusterUID !== undefined && lease.clusterUID !== clusterUID;
}

function sharedCell(cellID: string, { lease }: CellFacts, others: ReadonlyMap<string, WorkerFacts>): Finding {
  const uid = lease.clusterUID ?? "";
  const holder = [...others].find(([, { clusterUID }]) => clusterUID.ok && clusterUID.value === uid)?.[0];
  const who = holder === undefined ? `another cluster, with kube-system ${uid}` : `another cluster, ${holder}`;
  return fail("cell-shared", `two clusters under one cell: "${cellID}" is counted by ${who}`, {
    cure:
      "give this cluster a cell of its own, by --aggregator-cell-id and the URL of its webhook configuration; if it " +
      `takes the cell over: podseidon cells adopt ${cellID}`,
    page: "docs/aggregator.md#one-cell-one-cluster",
  });
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
