/**
 * Why a part must not be taken away yet: clusters still ask the webhooks of a core, and without these they refuse every
 * deletion, or guard none. Visible are the heartbeats of cells in the core, the cluster itself, and the workers that
 * are given.
 */
import { glanceAt } from "../../accounting/silence/glance.ts";
import { fieldsOf } from "../../api/json.ts";
import { type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { readDefinition } from "../../kube/pod-protectors.ts";
import { leases, namespaces, validatingWebhookConfigurations } from "../../kube/resources.ts";
import { listEntries } from "../check/readers/webhook-entries.ts";
import { type Clock } from "../../util/clock.ts";
import { reading } from "../clusters/reading.ts";
import { type FleetCell, listCells } from "../fleet/cells.ts";
import { ageText } from "../text/format.ts";
import { findConfigurations } from "./inventory.ts";
import { type Part } from "./steps.ts";
import { nameOf, type Site } from "./target.ts";

/** By cell: workers that are given, to be looked into. */
export type Workers = ReadonlyMap<string, KubeClient>;

const role = "cluster-admin";

export interface Reason {
  /** A sentence without its full stop. */
  readonly text: string;
  /** What to do about it, the same; undefined = the text says it. */
  readonly cure?: string;
}

/** Empty = it may go. Rejects only for programmer errors. */
export async function reasonsAgainst(part: Part, site: Site, workers: Workers): Promise<readonly Reason[]> {
  if (part === "worker") return isCore(site);
  const own = part === "single" ? await readClusterUID(site) : undefined;
  if (own !== undefined && !own.ok) return [{ text: own.problem }];
  return [...(part === "core" ? await isWorker(site) : []), ...(await askingCells(site, workers, own?.uid))];
}

async function isCore({ client, signal }: Site): Promise<readonly Reason[]> {
  const read = await readDefinition(client, { signal });
  if (read.kind === "gone") return [];
  if (read.kind === "there")
    return [{ text: "this cluster is a core, too: it has the CRD of PodProtectors", cure: "Uninstall single" }];
  return [{ text: `whether this cluster is a core is not known: ${read.error.message}` }];
}

async function isWorker(site: Site): Promise<readonly Reason[]> {
  const { targets, obstacles } = await findConfigurations(site);
  const names = targets.map(nameOf).join(", ");
  const text = `this cluster is a worker, too, by the webhook configuration ${names}`;
  const reasons = targets.length === 0 ? [] : [{ text, cure: "Uninstall single" }];
  return [...obstacles.map(({ problem }) => ({ text: problem })), ...reasons];
}

type ReadUID = { readonly ok: true; readonly uid: string } | { readonly ok: false; readonly problem: string };

/** Cells tell by it in which cluster they are. */
async function readClusterUID({ client, cluster, signal }: Site): Promise<ReadUID> {
  const name = "kube-system";
  const read = await reading({ cluster, verb: "get", resource: namespaces, name, role }, () =>
    client.request({ method: "GET", path: resourcePath(namespaces, { name }), signal }),
  );
  if (!read.ok) return { ok: false, problem: read.problem };
  return { ok: true, uid: String(fieldsOf(fieldsOf(read.value)["metadata"])["uid"]) };
}

async function askingCells(site: Site, workers: Workers, ownUID: string | undefined): Promise<readonly Reason[]> {
  const { client, cluster, clock, namespace, signal } = site;
  const access = { cluster, verb: "list", resource: leases, namespace, role } as const;
  const read = await reading(access, () => listCells(client, namespace, () => clock.epochMicros(), signal));
  if (!read.ok) return [{ text: `which cells there are is not known: ${read.problem}` }];
  const reasons: Reason[] = [];
  for (const cell of read.value.cells.values()) {
    const isOwn = ownUID !== undefined && (cell.lease.clusterUID ?? ownUID) === ownUID;
    if (isOwn || cell.glance.heardAgoMs === undefined || isOver(cell, clock)) continue;
    const reason = await reasonOf(cell, workers.get(cell.cellID), site);
    if (reason !== undefined) reasons.push(reason);
  }
  return reasons;
}

/** Unheard for as long as makes a cell silent. Where nobody at all is heard Podseidon was stopped, as is due. */
function isOver({ lease }: FleetCell, clock: Clock): boolean {
  return glanceAt(lease, clock.epochMicros()).silentForMs !== undefined;
}

/** Undefined = the worker was looked into, and asks nobody. */
async function reasonOf(
  { cellID, glance: { heardAgoMs = 0 } }: FleetCell,
  worker: KubeClient | undefined,
  { signal }: Site,
): Promise<Reason | undefined> {
  const first = "First uninstall the worker";
  if (worker === undefined) {
    const cure = `${first}; when that is done, show it by --worker CELL=CONTEXT, or wait until the cell is silent`;
    return { text: `cell ${cellID} was heard ${ageText(heardAgoMs)} ago: its worker asks this core`, cure };
  }
  const access = { cluster: worker.cluster, verb: "list", resource: validatingWebhookConfigurations, role } as const;
  const read = await reading(access, () => listEntries(worker, signal));
  if (!read.ok) return { text: `whether cell ${cellID} asks this core is not known: ${read.problem}` };
  const names = [...new Set(read.value.map(({ configuration }) => configuration))];
  if (names.length === 0) return undefined;
  const by = `by its webhook configuration ${names.join(", ")}`;
  return { text: `the worker of cell ${cellID} asks this core, ${by}`, cure: first };
}
