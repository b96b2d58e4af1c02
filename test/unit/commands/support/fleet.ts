/**
 * Clusters in the API double for the operator commands, a kubeconfig with a context for each, and what a command prints
 * when it runs on them. Everything is on one virtual clock.
 */
import assert from "node:assert/strict";
import { countedSpec } from "../../../../src/accounting/count/counted-spec.ts";
import { totalWeight } from "../../../../src/accounting/history/bucket.ts";
import { cellLeaseLabels, cellLeaseName, observerLeaseName, witnessLeaseName } from "../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import { type CellStatus, type Condition } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type CommandSurroundings, type Terminal } from "../../../../src/commands/command.ts";
import { runCommand } from "../../../../src/commands/index.ts";
import { type KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { errorOfResponse } from "../../../../src/kube/kube-errors.ts";
import { compileSelector, formatSelector } from "../../../../src/label-index/index.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import {
  builtInResources,
  Engine,
  type JsonObject,
  type KubeObject,
  permissivePodProtectorCrd,
  type ResourceType,
} from "../../../double/index.ts";
import { EngineClient } from "../../../support/engine-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";

export const systemNamespace = "podseidon-system";

export interface TestCluster {
  readonly engine: Engine;
  readonly client: EngineClient;
  /** Of PodProtectors. */
  readonly protectors: ResourceType;
  readonly create: (type: ResourceType, namespace: string | undefined, body: JsonObject) => Promise<KubeObject>;
}

export interface Ran {
  readonly exitCode: number;
  readonly problem: string | undefined;
  readonly stdout: string;
  /** One line each. */
  readonly stderr: readonly string[];
}

export interface Fleet {
  readonly clock: VirtualClock;
  /** Contexts of the kubeconfig by name; "core" is the current one. */
  readonly clusters: ReadonlyMap<string, TestCluster>;
  readonly core: TestCluster;
  /** Stops a command, as Ctrl-C does. */
  readonly stop: AbortController;
  readonly printed: string[];
  /** Runs a command to its end. */
  run(...argv: readonly string[]): Promise<Ran>;
  terminal: Terminal;
  program: string;
}

/** At 80 columns, in a pipe. */
export const plainTerminal: Terminal = { columns: 80, isColoured: false, isInteractive: false };

export async function createFleet(...contexts: readonly string[]): Promise<Fleet> {
  const clock = createVirtualClock();
  const clusters = new Map<string, TestCluster>();
  for (const context of ["core", ...contexts]) clusters.set(context, await createCluster(context, clock));
  const printed: string[] = [];
  const stop = new AbortController();
  const fleet: Fleet = {
    clock,
    clusters,
    core: clusters.get("core")!,
    stop,
    printed,
    terminal: plainTerminal,
    program: "podseidon",
    async run(...argv) {
      const complaints: string[] = [];
      const from = printed.length;
      const end = await runCommand(argv, surroundingsOf(fleet, complaints));
      const stdout = printed.slice(from).join("");
      return { exitCode: end.exitCode, problem: end.problem, stdout, stderr: complaints };
    },
  };
  return fleet;
}

function surroundingsOf(fleet: Fleet, complaints: string[]): CommandSurroundings {
  const { clock, clusters, printed, program, terminal, stop } = fleet;
  return {
    write: (text) => void printed.push(text),
    complain: (line) => void complaints.push(line),
    program,
    version: "podseidon 0.1.0 (commit abc, Node v26.0.0)\n",
    environment: { KUBECONFIG: "/kubeconfig" },
    readFile(file) {
      if (file !== "/kubeconfig") throw Object.assign(new Error("no such file"), { code: "ENOENT", path: file });
      const contexts = Array.from(clusters.keys(), (name) => ({ name, context: { cluster: name } }));
      return JSON.stringify({ "current-context": "core", contexts });
    },
    clock,
    rng: createSeededRng(7),
    signal: stop.signal,
    terminal,
    async connect({ context = "core" }) {
      const cluster = clusters.get(context);
      assert(cluster !== undefined, `no cluster ${context}`);
      return cluster.client;
    },
  };
}

async function createCluster(name: string, clock: VirtualClock): Promise<TestCluster> {
  const engine = new Engine({ clock, rng: createSeededRng(1), callWebhook: async (_webhook, review) => review });
  await engine.bootstrap();
  const protectors = await engine.installCrd(permissivePodProtectorCrd());
  await createNamespace(engine, systemNamespace);
  await createNamespace(engine, "shop");
  return {
    engine,
    protectors,
    client: new EngineClient(name, engine),
    create: (type, namespace, body) => engine.create(type, namespace, body),
  };
}

function createNamespace(engine: Engine, name: string): Promise<KubeObject> {
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  return engine.create(builtInResources.namespaces, undefined, body);
}

/** Every request that matches is answered with 403. */
export function forbid({ client }: TestCluster, pattern: RegExp): void {
  client.onRequest = (_request: KubeRequest, what: string): KubeError | undefined =>
    pattern.test(what)
      ? errorOfResponse(what, 403, JSON.stringify({ kind: "Status", reason: "Forbidden", message: "no right" }), "")
      : undefined;
}

/** `ms` before now, as a MicroTime. */
export function ago(clock: VirtualClock, ms: number): string {
  return formatMicroTime((clock.epochMicros() - ms * 1000) as EpochMicros);
}

export interface ProtectorFields {
  readonly namespace?: string;
  readonly minAvailable?: number;
  readonly cells?: readonly (CellStatus | CountedCell)[];
  readonly conditions?: readonly Partial<Condition>[];
  readonly metadata?: JsonObject;
  readonly labels?: Readonly<Record<string, string>>;
  /** Fields of the spec besides. */
  readonly spec?: JsonObject;
}

/** A cell that was counted as the spec asks. */
export interface CountedCell {
  readonly cellID: string;
  readonly available: number;
  readonly total?: number;
  readonly countedAt?: string;
  readonly buckets?: NonNullable<CellStatus["admissionHistory"]>["buckets"];
}

/** A PodProtector with counts that answer its spec; it selects the label app=NAME. */
export async function createProtector(
  { create, engine, protectors: type }: TestCluster,
  name: string,
  fields: ProtectorFields = {},
): Promise<KubeObject> {
  const { namespace = "shop", minAvailable = 1, metadata = {}, labels = { app: name } } = fields;
  const selector = { matchLabels: labels };
  const created = await create(type, namespace, {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { ...metadata, name, namespace },
    spec: { minAvailable, minReadySeconds: 0, selector, ...fields.spec },
  });
  const { uid } = created.metadata;
  const compiled = compileSelector(selector);
  assert(compiled.ok);
  const spec = countedSpec(uid, formatSelector(compiled.selector), 0);
  const cells = (fields.cells ?? []).map((cell) => ("available" in cell ? counted(cell, spec) : cell));
  const conditions = (fields.conditions ?? []).map((condition) => ({
    status: "True",
    reason: "Test",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
    ...condition,
  }));
  const status = { cells, summary: summaryOf(cells), conditions } as unknown as JsonObject;
  return await engine.update(type, namespace, name, { ...created, status }, { subresource: "status" });
}

/** No command reads it: the numbers come from the cells. */
function summaryOf(cells: readonly CellStatus[]): object {
  const sum = (of: (cell: CellStatus) => number): number => cells.reduce((total, cell) => total + of(cell), 0);
  const available = sum(({ aggregation }) => aggregation?.availableReplicas ?? 0);
  return {
    totalReplicas: sum(({ aggregation }) => aggregation?.totalReplicas ?? 0),
    aggregatedAvailableReplicas: available,
    estimatedAvailableReplicas: available - sum((cell) => totalWeight(cell.admissionHistory?.buckets)),
  };
}

function counted({ cellID, available, total = available, countedAt, buckets }: CountedCell, spec: string): CellStatus {
  return {
    cellID,
    aggregation: {
      totalReplicas: total,
      availableReplicas: available,
      countedSpec: spec,
      countedMinReadySeconds: 0,
      ...(countedAt !== undefined && { countedAt }),
    } as NonNullable<CellStatus["aggregation"]>,
    ...(buckets !== undefined && { admissionHistory: { buckets } }),
  };
}

/** A cell that was heard `agoMs` ago; `annotations` on its Lease. Without a cell: the Lease of the generator. */
export async function createCellLease(
  { create }: TestCluster,
  clock: VirtualClock,
  cellID: string | undefined,
  { agoMs = 2_000, annotations = {} }: { readonly agoMs?: number; readonly annotations?: JsonObject } = {},
): Promise<void> {
  const labels =
    cellID === undefined
      ? { [cellLeaseLabels.heartbeat]: "observer" }
      : { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID };
  await create(builtInResources.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: cellID === undefined ? observerLeaseName : cellLeaseName(cellID), labels, annotations },
    spec: {
      holderIdentity: cellID === undefined ? "generator-1" : `aggregator-${cellID}`,
      leaseDurationSeconds: 180,
      renewTime: ago(clock, agoMs),
    },
  });
}

/** The core takes writes of Leases, whatever becomes of those of the cells: an observer has just made sure of it. */
export async function somebodyIsHeard({ create }: TestCluster, clock: VirtualClock): Promise<void> {
  await create(builtInResources.leases, systemNamespace, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: witnessLeaseName, labels: { [cellLeaseLabels.heartbeat]: "witness" } },
    spec: { holderIdentity: "webhook", renewTime: ago(clock, 0) },
  });
}

/** An Event of the webhook about a PodProtector of the namespace shop. */
export async function createRefusal(
  { core, clock }: Fleet,
  about: {
    readonly name: string;
    readonly uid?: string;
    readonly count: number;
    readonly agoMs: number;
    readonly reason?: string;
    readonly message?: string;
  },
): Promise<void> {
  const { name, uid, count, agoMs, reason = "TooFewReplicas", message = "Deletion of pod x refused" } = about;
  await core.create(builtInResources.events, "shop", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${reason.toLowerCase()}${agoMs}`, namespace: "shop" },
    involvedObject: { kind: "PodProtector", namespace: "shop", name, ...(uid !== undefined && { uid }) },
    type: "Warning",
    reason,
    message,
    count,
    source: { component: "podseidon-webhook" },
    lastTimestamp: ago(clock, agoMs),
  });
}
