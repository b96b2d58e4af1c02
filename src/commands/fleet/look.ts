/**
 * One look at a core: its PodProtectors with where they stand, its cells, held changes, refusals. What may not be read
 * is left out, with a line that says which right is missing.
 */
import { objectKey } from "../../api/object-key.ts";
import { configMaps, generatorStateName } from "../../kube/generator-state.ts";
import { type KubeClient, type KubeError } from "../../kube/kube-client.ts";
import { type ReadDefinition, readDefinition } from "../../kube/pod-protectors.ts";
import { leases, podProtectors } from "../../kube/resources.ts";
import { type WaitingWorkload } from "../../sources/waiting-deletions.ts";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type OpenClusters } from "../clusters/open.ts";
import { type Access, reading } from "../clusters/reading.ts";
import { type CommandContext } from "../command.ts";
import { type FleetCells, listCells } from "./cells.ts";
import { findWaiting, type HeldChanges, isGeneratorAway, readHeldChanges } from "./held-changes.ts";
import { type InvalidProtector, listProtectors } from "./protectors.ts";
import { events, listProtectorEvents, type ProtectorEvent, type SeenTombstone, seenTombstones } from "./refusals.ts";
import { deployments, listReplicas, type ReadyReplicas } from "./replicas.ts";
import { type Standing, standingOf } from "./standing.ts";

export interface CoreLook {
  readonly core: string;
  readonly at: EpochMicros;
  /** Undefined = they cannot be read. */
  readonly protectors: LookedAtProtectors | undefined;
  readonly cells: FleetCells | undefined;
  readonly held: HeldChanges | undefined;
  readonly events: readonly ProtectorEvent[] | undefined;
  readonly replicas: readonly ReadyReplicas[] | undefined;
  readonly tombstones: readonly SeenTombstone[];
  /** Of the CRD of PodProtectors; "terminating" = somebody has deleted it. Undefined = it cannot be read. */
  readonly definition: "there" | "terminating" | "gone" | undefined;
  /** Deleted, while no generator leads; empty while one does. */
  readonly waiting: readonly WaitingWorkload[];
  /** One line for each thing that cannot be read. */
  readonly unread: readonly string[];
}

export interface LookedAtProtectors {
  readonly standings: readonly Standing[];
  /** Webhooks cannot use them. */
  readonly unusable: readonly InvalidProtector[];
}

export interface LookOptions {
  readonly core: string;
  readonly client: KubeClient;
  /** Undefined = all. */
  readonly namespace: string | undefined;
  readonly leaseNamespace: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** A look at each of these cores, at the same time. Rejects only for programmer errors. */
export function looksAt(
  cores: ReadonlyMap<string, KubeClient>,
  options: Omit<LookOptions, "core" | "client">,
): Promise<readonly CoreLook[]> {
  return Promise.all(Array.from(cores, ([core, client]) => lookAt({ ...options, core, client })));
}

/** The same, with what cannot be read told to `complain`. `namespace`: undefined = all. */
export async function toldLooksAt(
  { cores, choice: { leaseNamespace } }: Pick<OpenClusters, "cores" | "choice">,
  namespace: string | undefined,
  { clock, signal, complain }: Pick<CommandContext, "clock" | "signal" | "complain">,
): Promise<readonly CoreLook[]> {
  const looks = await looksAt(cores, { namespace, leaseNamespace, clock, signal });
  for (const line of looks.flatMap(({ unread }) => unread)) complain(line);
  return looks;
}

/** Rejects only for programmer errors. All parts are asked for at the same time. */
export async function lookAt(options: LookOptions): Promise<CoreLook> {
  const { core, client, namespace, leaseNamespace, clock, signal } = options;
  const now = (): EpochMicros => clock.epochMicros();
  const unread: string[] = [];
  const asked = async <T>(
    access: Omit<Access, "cluster">,
    read: (ends: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> => {
    const answer = await reading({ ...access, cluster: core }, () => read(signal));
    if (answer.ok) return answer.value;
    if (!isExpected(access, answer.error)) unread.push(answer.problem);
    return undefined;
  };
  const system = { namespace: leaseNamespace };
  const [listed, cells, held, happened, replicas, definition] = await Promise.all([
    asked({ verb: "list", resource: podProtectors, namespace }, () => listProtectors(client, namespace, signal)),
    asked({ verb: "list", resource: leases, ...system }, () => listCells(client, leaseNamespace, now, signal)),
    asked({ verb: "get", resource: configMaps, ...system, name: generatorStateName }, () =>
      readHeldChanges(client, leaseNamespace, now, signal),
    ),
    asked({ verb: "list", resource: events, namespace }, () => listProtectorEvents(client, namespace, signal)),
    asked({ verb: "list", resource: deployments, ...system }, () => listReplicas(client, leaseNamespace, signal)),
    readDefinition(client, { signal }),
  ]);
  const isAway = cells?.observer !== undefined && isGeneratorAway(cells.observer.glance, cells.unwrittenForMs);
  const ownMetadata = listed?.valid.map(({ protector }) => protector.metadata) ?? [];
  const waiting = isAway ? await findWaiting(client, ownMetadata, namespace, asked) : [];
  const places = [...ownMetadata, ...(listed?.invalid ?? [])];
  const present = new Set(places.map((one) => objectKey(one.namespace, one.name)));
  return {
    core,
    at: now(),
    protectors: listed === undefined ? undefined : standingsOf(listed, cells),
    cells,
    held,
    events: happened,
    replicas,
    definition: definitionState(definition),
    tombstones: listed === undefined ? [] : seenTombstones(happened ?? [], present, held?.state),
    waiting,
    unread,
  };
}

/** Roles of earlier releases lack the right. Who may not read it sees by the rest that something is wrong. */
function definitionState(definition: ReadDefinition): CoreLook["definition"] {
  if (definition.kind === "gone") return "gone";
  if (definition.kind !== "there") return undefined;
  return definition.isTerminating ? "terminating" : "there";
}

/** Where Podseidon runs as processes of a machine, nobody needs to read Deployments. */
function isExpected({ resource }: Pick<Access, "resource">, { kind }: KubeError): boolean {
  return resource === deployments && kind === "forbidden";
}

function standingsOf(
  { valid, invalid }: Awaited<ReturnType<typeof listProtectors>>,
  cells: FleetCells | undefined,
): LookedAtProtectors {
  const standings: Standing[] = [];
  const unusable: InvalidProtector[] = [...invalid];
  for (const stored of valid) {
    const read = standingOf(stored, cells);
    if (read.ok) standings.push(read.standing);
    else {
      const { namespace, name } = stored.protector.metadata;
      unusable.push({ namespace, name, reason: read.reason });
    }
  }
  return { standings, unusable };
}
