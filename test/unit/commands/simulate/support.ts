/** PodProtectors and pods for simulations without clusters. */
import assert from "node:assert/strict";
import { summarize } from "../../../../src/accounting/count/summary.ts";
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Guarding, type GuardOptions, readGuarding } from "../../../../src/commands/simulate/guard.ts";
import { readSimulatedPod, type SimulatedPod } from "../../../../src/commands/simulate/simulated-pods.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { type JsonObject } from "../../../double/index.ts";

export const now = (Date.UTC(2026, 5, 1, 12) * 1_000) as EpochMicros;

export interface ProtectorFields {
  readonly core?: string;
  readonly min?: number;
  /** Available pods by cell. */
  readonly cells?: Readonly<Record<string, number>>;
  /** Counted pods by cell; default: those that are available. */
  readonly totals?: Readonly<Record<string, number>>;
  /** Evictions by cell that are promised: UIDs. */
  readonly promised?: Readonly<Record<string, readonly string[]>>;
  readonly metadata?: JsonObject;
  readonly spec?: JsonObject;
  readonly conditions?: readonly JsonObject[];
}

/** It selects the label app=NAME in namespace shop. */
export function rawProtector(name: string, fields: ProtectorFields = {}): JsonObject {
  const { min = 1, cells = {}, totals = cells, promised = {}, metadata = {}, spec = {}, conditions = [] } = fields;
  const counted = Object.entries(cells).map(([cellID, availableReplicas]): CellStatus => ({
    cellID,
    aggregation: {
      totalReplicas: totals[cellID] ?? availableReplicas,
      availableReplicas,
      readyReplicas: availableReplicas,
    },
    admissionHistory: {
      buckets: (promised[cellID] ?? []).map((podUID) => ({
        podUID,
        startTime: "2026-06-01T11:59:59.000000Z" as never,
      })),
    },
  }));
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: "7", ...metadata },
    spec: { minAvailable: min, minReadySeconds: 0, selector: { matchLabels: { app: name } }, ...spec },
    status: { cells: counted, summary: summarize(counted, { minAvailable: min }), conditions },
  };
}

export function protector(name: string, fields: ProtectorFields = {}): Guarding {
  const read = readGuarding(fields.core ?? "core", rawProtector(name, fields));
  assert(read !== undefined);
  return read;
}

export function guardOptions(...protectors: readonly Guarding[]): GuardOptions {
  return { protectors, silentForMs: () => undefined, isRetiring: () => false, now };
}

export interface PodFields {
  readonly app?: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly isReady?: boolean;
  readonly phase?: string;
  readonly controllerKind?: string | undefined;
  readonly metadata?: JsonObject;
  readonly annotations?: JsonObject;
  readonly spec?: JsonObject;
}

/** Ready for an hour, of a ReplicaSet, with the label app=web. */
export function rawPod(name: string, fields: PodFields = {}): JsonObject {
  const { app = "web", namespace = "shop", node = "node-1", isReady = true, phase = "Running" } = fields;
  const { metadata = {}, annotations = {}, spec = {} } = fields;
  const kind = "controllerKind" in fields ? fields.controllerKind : "ReplicaSet";
  const owner = { apiVersion: "apps/v1", kind, name: app, uid: `uid-of-${app}`, controller: true };
  const time = "2026-06-01T11:00:00Z";
  return {
    metadata: {
      name,
      namespace,
      uid: `uid-${name}`,
      resourceVersion: "5",
      labels: { app },
      annotations,
      ...(kind !== undefined && { ownerReferences: [owner] }),
      ...metadata,
    },
    spec: { nodeName: node, ...spec },
    status: {
      phase,
      conditions: [
        { type: "PodScheduled", status: "True", lastTransitionTime: time },
        { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: time },
      ],
    },
  };
}

export function pod(name: string, fields: PodFields = {}): SimulatedPod {
  const read = readSimulatedPod(rawPod(name, fields));
  assert(read !== undefined);
  return read;
}

/** So many pods of one name, numbered from 1. */
export function podsNamed(name: string, count: number, fields: PodFields = {}): readonly SimulatedPod[] {
  return Array.from({ length: count }, (_, index) => pod(`${name}-${index + 1}`, fields));
}
