/** What a simulation reads from the clusters: the PodProtectors and silent cells of the cores, and pods of a worker. */
import { silentFor } from "../../accounting/silence/glance.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { type KubeClient, type Resource } from "../../kube/kube-client.ts";
import { leases, podProtectors, pods } from "../../kube/resources.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { type OutputFormat } from "../clusters/options.ts";
import { type Access, listed, reading, type Reading } from "../clusters/reading.ts";
import { type CommandContext, type CommandOptions, valueOf } from "../command.ts";
import { type FleetCells, listCells } from "../fleet/cells.ts";
import { type Budget, readBudget } from "./budgets.ts";
import { type Guarding, type GuardOptions, readGuarding } from "./guard.ts";
import { readSimulatedPod, type SimulatedPod } from "./simulated-pods.ts";

const budgetResource: Resource = { group: "policy", version: "v1", resource: "poddisruptionbudgets" };
/** Kubernetes' own role for people, which may read pods and budgets. */
const role = "view";
/** As kubectl and `podseidon status` list them: an object of 1 MB is rare. */
const pageSize = 250;

export type Reads = Pick<CommandContext, "clock" | "signal" | "complain">;

/** The cluster whose pods are asked about, and the cell that its webhook calls itself. */
export interface Worker {
  readonly cell: string;
  readonly client: KubeClient;
}

/** By --cell and --worker; without --worker, the core has the pods too. A Problem is wrong usage. */
export function workerOf(options: CommandOptions, { cores, workers }: OpenClusters): Worker | Problem {
  const cell = valueOf(options, "cell");
  if (cell === undefined) {
    const [only] = workers;
    if (only === undefined || workers.size > 1)
      return new Problem("name the cell of the pods: --cell=CELL, and its cluster by --worker=CELL=CONTEXT");
    return { cell: only[0], client: only[1] };
  }
  const client = workers.get(cell);
  if (client !== undefined) return { cell, client };
  const [core] = cores.values();
  if (core !== undefined && cores.size === 1 && workers.size === 0) return { cell, client: core };
  return new Problem(`no --worker=CELL=CONTEXT says which cluster has the pods of cell ${quote(cell)}`);
}

/**
 * PodProtectors of all cores, of one namespace or all of them. Without them nothing can be judged; without the Leases,
 * no cell is taken to be silent, which is complained of. Rejects only for programmer errors.
 */
export async function readGuards(
  { cores, choice }: OpenClusters,
  namespace: string | undefined,
  { clock, signal, complain }: Reads,
): Promise<Reading<GuardOptions>> {
  const protectors: Guarding[] = [];
  const cellsOf = new Map<string, FleetCells>();
  for (const [core, client] of cores) {
    const access: Access = { cluster: client.cluster, verb: "list", resource: podProtectors, namespace };
    const scope = { resource: podProtectors, namespace };
    const decode = (raw: unknown): Guarding | undefined => readGuarding(core, raw);
    const read = await reading(access, () => listed(client, scope, decode, { signal, pageSize }));
    if (!read.ok) return read;
    protectors.push(...read.value);
    const { leaseNamespace } = choice;
    const ofLeases: Access = { cluster: client.cluster, verb: "list", resource: leases, namespace: leaseNamespace };
    const cells = await reading(ofLeases, () => listCells(client, leaseNamespace, () => clock.epochMicros(), signal));
    if (cells.ok) cellsOf.set(core, cells.value);
    else complain(`${cells.problem}; no cell is taken to be silent`);
  }
  const silentForMs: GuardOptions["silentForMs"] = (core, cellID, uid) =>
    silentFor(cellsOf.get(core)?.cells.get(cellID)?.glance, uid);
  const isRetiring: GuardOptions["isRetiring"] = (core, cellID) =>
    cellsOf.get(core)?.cells.get(cellID)?.lease.isForgotten === true;
  return { ok: true, value: { protectors, silentForMs, isRetiring, now: clock.epochMicros() } };
}

/** Which pods. Absent = all. */
export interface PodPlace {
  readonly namespace?: string | undefined;
  readonly node?: string;
  /** As the API server takes it. */
  readonly labelSelector?: string | undefined;
}

/** Rejects only for programmer errors. */
export function readPods(
  { client }: Worker,
  { namespace, node, labelSelector }: PodPlace,
  signal: AbortSignal,
): Promise<Reading<readonly SimulatedPod[]>> {
  const fieldSelector = node === undefined ? undefined : `spec.nodeName=${node}`;
  const scope = { resource: pods, namespace, fieldSelector, labelSelector };
  return reading({ cluster: client.cluster, verb: "list", resource: pods, namespace, role }, () =>
    listed(client, scope, readSimulatedPod, { signal }),
  );
}

/** Of all namespaces. Without them only the webhook is asked, which is complained of. */
export async function readBudgets({ client }: Worker, { signal, complain }: Reads): Promise<readonly Budget[]> {
  const read = await reading({ cluster: client.cluster, verb: "list", resource: budgetResource, role }, () =>
    listed(client, { resource: budgetResource }, readBudget, { signal }),
  );
  if (read.ok) return read.value;
  complain(`${read.problem}; PodDisruptionBudgets are not looked at`);
  return [];
}

export interface Simulation {
  readonly context: CommandContext;
  readonly options: CommandOptions;
  readonly output: OutputFormat;
}
