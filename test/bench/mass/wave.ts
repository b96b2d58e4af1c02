/** One wave: pods in two workers are deleted all at once, and what that takes. */
import { setTimeout as delay } from "node:timers/promises";
import { type ManagedProcess } from "../../../scripts/child-processes.ts";
import { AvailableWatch } from "../../e2e/loads/available.ts";
import { deletionFigures } from "../../e2e/objects/deletions.ts";
import { type Fleet } from "../../e2e/fleet/fleet.ts";
import { useAllQuota } from "../../e2e/loads/patient-caller.ts";
import { createPods } from "../../e2e/objects/pods.ts";
import { deleteIn } from "../../e2e/loads/protected-pods.ts";
import { type CaseContext } from "../../e2e/runner/runner.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { cpuMsOf } from "../processes/cpu-shares.ts";
import { type Guard } from "./guard.ts";

export interface WaveSpec {
  readonly podsPerCell: number;
  readonly floor: number;
  readonly inFlightPerCell: number;
  /** Default: the pods' own 30 s, which the fake kubelet ends at once. */
  readonly gracePeriodSeconds?: 0;
}

export interface WaveFigures {
  /** Of the admitted deletions, as are the quantiles. */
  readonly latenciesMs: readonly number[];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly deleted: number;
  readonly refused: number;
  /** Neither deleted nor refused. */
  readonly otherwise: number;
  /** Milliseconds of CPU for each admitted deletion, by what used them. */
  readonly cpuMs: Readonly<Record<string, number>>;
  /** Status writes of the webhooks, and those of them that met another's. */
  readonly written: number;
  readonly conflicts: number;
  /** Serving pods at the end, after a patient caller has used what came back. */
  readonly left: number;
  readonly lowest: number;
}

/** What the wave causes is over by then: watches, status writes, settled buckets. */
const afterwardsMs = 2_000;
const watchLimitMs = 30_000;

export interface Turn {
  readonly context: CaseContext;
  readonly guard: Guard;
  /** The processes of the clusters, named `cluster/program`. */
  readonly controlPlane: () => readonly ManagedProcess[];
}

/** `name`: of the PodProtector, and the label and the names of the pods. Each wave of a turn has its own. */
export async function runWave(turn: Turn, name: string, spec: WaveSpec): Promise<WaveFigures> {
  const { podsPerCell, floor, inFlightPerCell, gracePeriodSeconds } = spec;
  const { context, guard } = turn;
  const { namespace } = context;
  const { workers, fleet } = guard;
  const clusters = workers.map(({ cluster }) => cluster);
  const labels = { app: name };
  let names: readonly string[] = [];
  for (const { admin } of clusters) {
    names = await createPods(admin, { namespace, count: podsPerCell, namePrefix: name, labels });
  }
  const all = workers.length * podsPerCell;
  const available = new AvailableWatch(context, { workers, namespace }, `app=${name}`);
  await available.begin(all);
  await fleet?.protect(name, labels, floor, all);
  await guard.inForce(`${name}-0`);
  const writesBefore = await writesOf(fleet);
  const cpuBefore = cpuOf(turn);
  const wave = { names, inFlightPerCell, ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) };
  const attempts = await deleteIn(clusters, namespace, wave);
  await delay(afterwardsMs);
  const cpuAfter = cpuOf(turn);
  const writesAfter = await writesOf(fleet);
  const figures = deletionFigures(attempts);
  await waitFor("the watch has seen every deletion", watchLimitMs, () => available.serving === all - figures.deleted);
  if (fleet !== undefined) await useAllQuota(fleet, available, { protector: name, names, attempts, floor });
  return {
    ...figures,
    latenciesMs: attempts.filter(({ code }) => code === 200).map(({ latencyMs }) => latencyMs),
    cpuMs: Object.fromEntries(
      [...cpuAfter].map(([title, ms]) => [title, (ms - (cpuBefore.get(title) ?? 0)) / figures.deleted]),
    ),
    written: writesAfter.written - writesBefore.written,
    conflicts: writesAfter.conflicts - writesBefore.conflicts,
    left: available.serving,
    lowest: available.minimum,
  };
}

/** CPU time so far, in milliseconds, by what used it. */
function cpuOf({ guard, controlPlane }: Turn): ReadonlyMap<string, number> {
  const running = controlPlane().filter((one) => one.exit() === undefined);
  const ofClusters = Map.groupBy(running, ({ name }) => (name.endsWith("/etcd") ? "etcd" : "API servers"));
  const programs = new Map([...guard.processes, ...ofClusters, ["load generator", [process]]]);
  return new Map([...programs].map(([title, some]) => [title, cpuMsOf(some)]));
}

async function writesOf(fleet: Fleet | undefined): Promise<{ readonly written: number; readonly conflicts: number }> {
  if (fleet === undefined) return { written: 0, conflicts: 0 };
  const metric = "webhook_status_write_total";
  return {
    written: await fleet.webhookCount(metric, { result: "written" }),
    conflicts: await fleet.webhookCount(metric, { result: "conflict" }),
  };
}
