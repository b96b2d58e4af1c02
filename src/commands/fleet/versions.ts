/**
 * Which release each role runs, as it says in its heartbeats: aggregators in the Leases of their cells, the generator
 * in its own. An upgrade that stopped half-way shows here (docs/upgrading.md#what-shows-it).
 */
import { type FleetCells } from "./cells.ts";

/** Cells that are named in one line. */
const namedMax = 5;

/**
 * `generator 0.2.0 (abc), aggregators of worker-1, worker-2 0.1.0 (def)` when they differ; undefined = all that is
 * known is the same.
 */
export function differingVersions({ cells, observer }: FleetCells): string | undefined {
  const aggregators = new Map<string, string[]>();
  for (const { cellID, lease } of cells.values()) {
    if (lease.productVersion === undefined) continue;
    const same = aggregators.get(lease.productVersion);
    if (same === undefined) aggregators.set(lease.productVersion, [cellID]);
    else same.push(cellID);
  }
  const generator = observer?.lease.productVersion;
  const all = new Set([...aggregators.keys(), ...(generator === undefined ? [] : [generator])]);
  if (all.size < 2) return undefined;
  const texts = Array.from(aggregators, ([version, names]) => `${aggregatorsText(names)} ${version}`);
  return [...(generator === undefined ? [] : [`generator ${generator}`]), ...texts].join(", ");
}

function aggregatorsText(cells: readonly string[]): string {
  const more = cells.length > namedMax ? ` and ${cells.length - namedMax} more` : "";
  return `aggregator${cells.length === 1 ? "" : "s"} of ${cells.slice(0, namedMax).join(", ")}${more}`;
}
