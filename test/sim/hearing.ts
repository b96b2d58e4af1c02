/** What the cells of a world have told its cores, and webhooks of them, by heartbeats. */
import { digestOfUID, unpackDigests } from "../../src/accounting/history/uid-digest.ts";
import { cellLeaseAnnotations, cellLeaseName } from "../../src/api/cell-lease.ts";
import { builtInResources } from "../double/engine/resources.ts";
import { type Core } from "./core.ts";
import { type World } from "./world.ts";

type Gauges = ReadonlyMap<string, number>;

/** A cell that is lost before its first beat would be in force for ever, as if its aggregator sent none. */
export function haveBeaten({ cells, cores }: World): boolean {
  return cores.every(({ server }) => {
    const { items } = server.engine.list(builtInResources.leases);
    const names = new Set(items.map(({ metadata }) => metadata.name));
    return cells.every(({ name }) => names.has(cellLeaseName(name)));
  });
}

/** Which cells are silent, to whom. */
export function silentCells(world: World): readonly string[] {
  return cellsBy(world, (gauges, cell, { name }) => gauges.get(`cell_state ${name} webhook ${cell} silent`) === 1);
}

/**
 * They fall silent in a moment, if their aggregators need so long to be well again, or are silent for a PodProtector
 * that they have yet to count.
 */
export function unheardCells(world: World, sinceMs: number): readonly string[] {
  const agedMs = world.kernel.nowMs - sinceMs;
  return cellsBy(world, (gauges, cell, core) => {
    const of = `${core.name} webhook ${cell}`;
    const isBeating = gauges.get(`cell_state ${of} beating`) === 1;
    if (isBeating && (gauges.get(`cell_beat_age_seconds ${of}`) ?? 0) * 1_000 > agedMs) return true;
    const behind = behindIn(core, cell);
    // Bystanders' may stay behind for ever.
    const isTold = (gauges.get(`cell_behind_podprotectors ${of}`) ?? 0) <= behind.length;
    if (!isTold) return true;
    const counted = new Set(core.present.map(({ object }) => digestOfUID(object?.metadata.uid ?? "")));
    return behind.some((digest) => counted.has(digest));
  });
}

/** Digests of PodProtectors that the aggregator of the cell cannot count or write, by its Lease. */
function behindIn({ server }: Core, cell: string): readonly string[] {
  const { items } = server.engine.list(builtInResources.leases);
  const lease = items.find(({ metadata }) => metadata.name === cellLeaseName(cell));
  const packed = lease?.metadata.annotations?.[cellLeaseAnnotations.behind];
  return packed === undefined ? [] : (unpackDigests(packed)?.list() ?? []);
}

/** Those of which this is true by the gauges of a webhook, and of which, by cores. */
function cellsBy(
  { webhooks, cells, lost, coresLeft }: World,
  is: (gauges: Gauges, cell: string, core: Core) => boolean,
): readonly string[] {
  const present = cells.filter(({ name }) => !lost.cells.has(name));
  return webhooks
    .filter((webhook) => !lost.processes.has(webhook))
    .flatMap((webhook) => {
      const gauges = webhook.gauges();
      const inCore = (core: Core): string[] =>
        present.filter(({ name }) => is(gauges, name, core)).map(({ name }) => `${name} to ${webhook.name}`);
      return coresLeft.flatMap((core) => inCore(core));
    });
}
