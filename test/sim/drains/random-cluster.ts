/**
 * A random cluster to be drained: workloads of all kinds on three nodes of cell "a", some with pods in cell "b", with
 * PodProtectors and PodDisruptionBudgets of all kinds. The product's real webhook and aggregators run; nothing goes
 * wrong but what is drawn here.
 */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { Draws } from "../../support/draws.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { type JsonObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/index.ts";
import { namespace } from "../clusters/namespaces.ts";
import { type Core } from "../core.ts";
import { Arguments } from "../scenarios/commands/arguments.ts";
import { type Stage } from "../scenarios/commands/stage.ts";
import { worldOf } from "../scenarios/commands/world-command.ts";
import { createPod, evict, type PodFields } from "./pods.ts";

const { nodes, podDisruptionBudgets } = builtInResources;
/** In cell "a". The first one or two are drained. */
const nodeNames = ["node-1", "node-2", "node-3"] as const;
/** For lists, Leases and first counts. */
const startUpMs = 100_000;
/** So long after its last beat a cell is silent for everybody, with --silent-cell-after=3m. */
const silenceMs = 260_000;

export interface RandomCluster {
  readonly stage: Stage;
  /** To be drained, in this order. */
  readonly drained: readonly string[];
  readonly budgets: readonly RandomBudget[];
  /** What was drawn, for messages. */
  readonly story: readonly string[];
}

export interface RandomBudget {
  readonly name: string;
  readonly labels: JsonObject;
  readonly desired: number;
  readonly expected: number;
}

interface RandomWorkload {
  readonly app: string;
  readonly pods: readonly (PodFields & { readonly cell: string })[];
}

interface Building {
  readonly draws: Draws;
  readonly stage: Stage;
  readonly story: string[];
}

export async function createRandomCluster(seed: number): Promise<RandomCluster> {
  const draws = new Draws(createSeededRng(seed));
  const cells = draws.chance(0.6) ? "a,b" : "a";
  const second = draws.chance(0.25) ? ["east=0"] : [];
  const words = [`cells=${cells}`, "no-protector", "silent-after=3m", ...second];
  const stage = await worldOf(new Arguments("the random cluster", words), "observed");
  const { world } = stage;
  const building: Building = { draws, stage, story: [`cells ${cells}`, ...second] };
  await world.kernel.run(world.kernel.nowMs + startUpMs, () => world.processes().every((one) => one.isReady()));
  for (const name of nodeNames) {
    const body = { apiVersion: "v1", kind: "Node", metadata: { name } };
    await stage.during(world.cell("a").server.engine.create(nodes, undefined, body));
  }
  const workloads = await createWorkloads(building, cells.split(","));
  await createOddPods(building);
  const isDeaf = cells === "a,b" && draws.chance(0.35);
  // Before its aggregator goes, cell "b" is counted for some, and for others it is not.
  const [early, late] = isDeaf ? [workloads.slice(0, 2), workloads.slice(2)] : [workloads, []];
  for (const workload of early) await createProtectors(building, workload);
  await createUmbrella(building, workloads);
  await world.kernel.run(world.kernel.nowMs + startUpMs);
  if (isDeaf) {
    building.story.push("the aggregator of b is gone");
    stage.process("aggregator-b-1").kill();
    if (draws.chance(0.5)) {
      building.story.push("for so long that b is silent");
      await stage.advance(silenceMs);
    }
  }
  for (const workload of late) await createProtectors(building, workload);
  await stage.advance(startUpMs);
  await promiseSome(building, workloads);
  const budgets = await createBudgets(building, workloads);
  await stage.advance(3_000);
  const drained = draws.chance(0.3) ? nodeNames.slice(0, 2) : nodeNames.slice(0, 1);
  return { stage, drained, budgets, story: [...building.story, `drained ${drained.join(", ")}`] };
}

async function createWorkloads({ draws, stage, story }: Building, cells: readonly string[]): Promise<RandomWorkload[]> {
  const workloads: RandomWorkload[] = [];
  for (let index = draws.whole(2, 5); index > 0; index -= 1) {
    const app = `w${index}`;
    const isControlled = draws.chance(0.85);
    const pods: (PodFields & { readonly cell: string })[] = [];
    for (const cell of cells) {
      const count = cell === "a" ? draws.whole(1, 6) : draws.whole(0, 3);
      for (let number = 1; number <= count; number += 1) {
        pods.push({
          cell,
          name: `${app}-${cell}-${number}`,
          node: cell === "a" ? draws.oneOf<string>("node-1", "node-1", "node-2", "node-3") : "node-1",
          labels: {
            app,
            ours: "yes",
            team: index % 2 === 0 ? "x" : "y",
            track: draws.chance(0.7) ? "stable" : "canary",
          },
          isReady: draws.chance(0.85),
          controllerKind: isControlled ? "ReplicaSet" : undefined,
          // The checkers of a world know forced deletions by the Eviction alone.
          isForced: false,
        });
      }
    }
    for (const pod of pods) await stage.during(createPod(stage.server(pod.cell), pod));
    story.push(`${app}: ${pods.length} pods, ${pods.filter(({ isReady }) => isReady).length} ready`);
    if (!isControlled) story.push(`${app} has no controller`);
    workloads.push({ app, pods });
  }
  return workloads;
}

/** That kubectl leaves alone, or that nobody keeps. */
async function createOddPods({ draws, stage }: Building): Promise<void> {
  const server = stage.server("a");
  const common = { node: "node-1", labels: { app: "odd", ours: "yes" }, isReady: true, isForced: false };
  const odd: readonly PodFields[] = [
    { ...common, name: "daemon", controllerKind: "DaemonSet" },
    { ...common, name: "mirror", controllerKind: "Node", isMirror: true },
    { ...common, name: "finished", controllerKind: "Job", phase: "Succeeded" },
    { ...common, name: "pending", controllerKind: "ReplicaSet", phase: "Pending" },
  ];
  for (const pod of odd) if (draws.chance(0.5)) await stage.during(createPod(server, pod));
}

async function createProtectors(building: Building, { app, pods }: RandomWorkload): Promise<void> {
  const { draws, stage } = building;
  if (draws.chance(0.12)) return;
  const total = pods.length;
  const floor = draws.oneOf(total - 1, total - 1, total - 2, Math.ceil(total * 0.75), total, total + 1, 0);
  const isShadow = draws.chance(0.12);
  const isNarrow = draws.chance(0.2);
  const isBroken = draws.chance(0.06);
  const spec = {
    minAvailable: Math.max(0, floor),
    minReadySeconds: draws.chance(0.2) ? 5 : 0,
    selector: { matchLabels: isNarrow ? { app, track: "stable" } : { app } },
    ...(isNarrow && { aggregationSelector: { matchLabels: { app } } }),
  };
  await createProtector(building, stage.world.core, app, { spec, isShadow });
  if (isBroken) await breakProtector(building, app);
  const [, east] = stage.world.cores;
  if (east === undefined || !draws.chance(0.5)) return;
  const second = { ...spec, minAvailable: Math.max(0, total - draws.whole(1, 2)) };
  await createProtector(building, east, app, { spec: second, isShadow: false });
}

/** Somebody edits it into an invalid one. */
async function breakProtector({ stage, story }: Building, name: string): Promise<void> {
  const { engine } = stage.world.core.server;
  await stage.advance(2_000);
  story.push(`core/${name} is invalid`);
  const aggregationSelector = { matchExpressions: [{ key: "app", operator: "In", values: [] }] };
  const patch = { contentType: "application/merge-patch+json", body: { spec: { aggregationSelector } } };
  await stage.during(engine.patch(stage.world.core.protectors, namespace, name, patch));
}

/** One that counts the pods of several workloads. */
async function createUmbrella(building: Building, workloads: readonly RandomWorkload[]): Promise<void> {
  const { draws, stage } = building;
  if (!draws.chance(0.4)) return;
  const ready = workloads
    .flatMap(({ pods }) => pods)
    .filter(({ labels, isReady }) => labels["team"] === "x" && isReady).length;
  const minAvailable = Math.max(0, ready - draws.whole(0, 3));
  const spec = { minAvailable, minReadySeconds: 0, selector: { matchLabels: { team: "x" } } };
  await createProtector(building, stage.world.core, "umbrella", { spec, isShadow: draws.chance(0.2) });
}

async function createProtector(
  { stage, story }: Building,
  core: Core,
  name: string,
  { spec, isShadow }: { spec: JsonObject; isShadow: boolean },
): Promise<void> {
  story.push(`${core.name}/${name}${isShadow ? " (shadow)" : ""} ${JSON.stringify(spec)}`);
  await stage.during(
    core.server.engine.create(core.protectors, namespace, {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { name, ...(isShadow && { annotations: { [annotations.mode]: "shadow" } }) },
      spec,
    }),
  );
}

/** Evictions that the webhook admits, and another policy refuses: they stay promised for a while. */
async function promiseSome({ draws, stage, story }: Building, workloads: readonly RandomWorkload[]): Promise<void> {
  if (!draws.chance(0.4)) return;
  const pods = workloads.flatMap((workload) => workload.pods).filter(({ cell }) => cell === "a");
  for (let count = draws.whole(1, 2); count > 0; count -= 1) {
    const { name } = draws.pick(pods);
    const outcome = await stage.ask(`a/${name}`, "dropped", evict);
    story.push(`an eviction of ${name} before: ${outcome.slice(0, 20)}`);
  }
}

async function createBudgets(
  { draws, stage, story }: Building,
  workloads: readonly RandomWorkload[],
): Promise<readonly RandomBudget[]> {
  const budgets: RandomBudget[] = [];
  for (const { app, pods } of workloads) {
    if (!draws.chance(0.2)) continue;
    const expected = pods.filter(({ cell }) => cell === "a").length;
    const desired = Math.max(1, expected - draws.whole(0, 2));
    const budget = { name: app, labels: { app }, desired, expected };
    const body = {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: app },
      spec: { minAvailable: desired, selector: { matchLabels: { app } } },
    };
    await stage.during(stage.server("a").engine.create(podDisruptionBudgets, namespace, body));
    story.push(`budget ${app}: ${desired} of ${expected}`);
    budgets.push(budget);
  }
  return budgets;
}
