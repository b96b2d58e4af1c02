/** An observer of Leases that a test writes by hand. */
import assert from "node:assert/strict";
import { cellLeaseLabels, cellLeaseName, observerLeaseName, witnessLeaseName } from "../../../../src/api/cell-lease.ts";
import { CellLeases } from "../../../../src/kube/cell-leases/index.ts";
import { KubeError, type KubeErrorKind } from "../../../../src/kube/kube-client.ts";
import { type LogFields, type Logger, silentLogger } from "../../../../src/util/logger.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { createScriptedKubeClient } from "../scripted-kube-client.ts";

export function rawLease(cellID: string | undefined, beat: number): unknown {
  const isCell = cellID !== undefined;
  return {
    metadata: {
      name: isCell ? cellLeaseName(cellID) : observerLeaseName,
      uid: "uid",
      resourceVersion: "5",
      labels: {
        [cellLeaseLabels.heartbeat]: isCell ? "cell" : "observer",
        ...(isCell && { [cellLeaseLabels.cell]: cellID }),
      },
    },
    spec: { holderIdentity: "x", renewTime: `2026-01-01T00:00:${String(beat % 60).padStart(2, "0")}.000000Z` },
  };
}

function rawWitness(beat: number): unknown {
  return {
    metadata: {
      name: witnessLeaseName,
      uid: "uid",
      resourceVersion: "6",
      labels: { [cellLeaseLabels.heartbeat]: "witness" },
    },
    spec: { holderIdentity: "webhook", renewTime: `2026-01-01T00:00:00.${String(beat).padStart(6, "0")}Z` },
  };
}

export const listsSent = ({ requests }: Pick<ReturnType<typeof createScriptedKubeClient>, "requests">): number =>
  requests.filter(({ method }) => method === "GET").length;

export function rig({
  silentPolicy = "zero",
  role = "webhook",
}: { silentPolicy?: "zero" | "keep"; role?: string } = {}) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  const metrics = createCountingMetrics();
  const log: string[] = [];
  const lists: string[][] = [];
  const write = (level: string) => (message: string, fields?: LogFields) => {
    assert.equal(fields?.["core"], undefined, "the logger has it, and a line would have it twice");
    const cell = fields?.["cell"];
    log.push(typeof cell === "string" ? `${level} ${message} ${cell}` : `${level} ${message}`);
  };
  const logger: Logger = { ...silentLogger, error: write("E"), warn: write("W"), info: write("I") };
  /** `writeFailure`: of the writes of the observer. `witness`: how often that Lease was written; 0 = there is none. */
  const world: {
    leases: unknown[];
    failure: KubeErrorKind | undefined;
    writeFailure: KubeError | undefined;
    witness: number;
  } = { leases: [], failure: undefined, writeFailure: undefined, witness: 1 };
  client.onRequest = ({ method }) => {
    if (world.failure !== undefined) throw new KubeError(world.failure, `scripted ${world.failure}`);
    if (method === "GET") {
      const witness = world.witness === 0 ? [] : [rawWitness(world.witness)];
      return { metadata: { resourceVersion: "10" }, items: [...world.leases, ...witness] };
    }
    if (world.writeFailure !== undefined) throw world.writeFailure;
    if (method === "PATCH" && world.witness === 0) throw new KubeError("notFound", "scripted notFound");
    world.witness += 1;
    return {};
  };
  const cells = new CellLeases({
    core: "core",
    client,
    role,
    leaseNamespace: "heartbeats",
    silentAfterMs: 180_000,
    silentPolicy,
    clock,
    logger,
    metrics,
    onListed: (listed) => void lists.push(listed.map(({ cellID }) => cellID)),
  });
  const stop = new AbortController();
  // After what the test does first.
  const running = Promise.resolve().then(() => cells.run(stop.signal));
  const value = (name: string, labels: Record<string, string> = {}): number => {
    metrics.scrape();
    return metrics.value(name, { core: "core", observer: role, ...labels });
  };
  return { clock, client, cells, world, log, lists, value, stop, running };
}
