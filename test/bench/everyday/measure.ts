/**
 * `make bench ONLY=everyday`: what Podseidon costs when nothing is wrong (docs/performance.md#everyday). Each row runs
 * with each guard in turns, three times; the medians are shown.
 */
import { setTimeout as delay } from "node:timers/promises";
import { resolveKubeAssets } from "../../../scripts/kube-assets.ts";
import { ClusterPool } from "../../e2e/clusters/cluster-pool.ts";
import { defaultControllers } from "../../e2e/clusters/control-plane.ts";
import { applyCrd } from "../../e2e/objects/crd.ts";
import { crdFile } from "../../e2e/fleet/fleet.ts";
import { startKubelet } from "../../e2e/objects/kubelet.ts";
import { Products } from "../processes/products.ts";
import { inContext } from "../processes/run-context.ts";
import { quantile, type Row } from "../row.ts";
import { type Costs } from "./recorder.ts";
import { type EverydayRow, everydayRows } from "./rows.ts";
import { clear, clusterName, type Guard, World } from "./world.ts";

interface Run extends Costs {
  readonly ms: number;
  readonly reviews: number;
}

export interface EverydayOptions {
  /** The rows that take minutes, too. */
  readonly isLong: boolean;
  /** Only rows with this text in their names, long ones too; empty = all. */
  readonly text: string;
  /** How often each row runs with each guard. */
  readonly repetitions: number;
}

/** As a container starts, and as it ends. */
const readyDelayMs = 300;
const terminationDelayMs = 200;
/** One refusal that was not needed for so many deletions; none in a row without pressure. */
const admittedPerUnnecessary = 20;
/** The metrics of a review are counted after its answer, and a watch brings the last write a moment later. */
const afterwardsMs = 1_000;
/** The quota of a deletion that was carried out is back long before that. */
const quotaLimitMs = 30_000;
const holdingPollMs = 100;

/**
 * Yields each row as soon as it is measured. Throws a KubeAssetsError where the programs are neither there nor can be
 * built.
 */
export async function* measureEveryday(
  say: (line: string) => void,
  options: EverydayOptions,
): AsyncGenerator<Row, void> {
  const assets = await resolveKubeAssets(say);
  const products = new Products();
  const { processes, directory } = products;
  const controllers = [...defaultControllers, "pod-garbage-collector-controller"];
  const definition = { name: clusterName, controllerManager: { controllers }, scheduler: true, nodes: 2 };
  const pool = new ClusterPool([definition], { assets, processes, directory });
  const cluster = await pool.cluster(clusterName);
  await applyCrd(cluster.admin, crdFile);
  const kubelet = startKubelet({ admin: cluster.admin, readyDelayMs, terminationDelayMs });
  let runs = 0;
  const run = async (row: EverydayRow, guard: Guard): Promise<Run> => {
    const namespace = `everyday-${++runs}`;
    const shared = { namespace, assets, cluster: () => Promise.resolve(cluster), say };
    try {
      return await inContext(products, shared, async (context) => timed(row, await World.start(context, guard)));
    } finally {
      await clear(cluster, namespace);
    }
  };
  try {
    for (const row of chosenRows(options)) {
      say(row.what);
      yield rowOf(row, await inTurns(row, options.repetitions, run));
    }
  } finally {
    await kubelet.stop();
    await pool.discard();
    await products.end();
  }
}

function chosenRows({ isLong, text }: EverydayOptions): readonly EverydayRow[] {
  if (text !== "") return everydayRows.filter(({ what }) => what.includes(text));
  return everydayRows.filter((row) => isLong || row.isLong !== true);
}

async function timed(row: EverydayRow, world: World): Promise<Run> {
  await row.prepare?.(world);
  await world.deploy(row.workloads);
  await row.ready?.(world);
  const reviewsBefore = await world.reviews();
  const [fromMs, startMs] = [Date.now(), performance.now()];
  await row.act(world);
  const ms = performance.now() - startMs;
  await delay(afterwardsMs);
  for (const endMs = performance.now() + quotaLimitMs; world.recorder.isHolding && performance.now() < endMs;) {
    await delay(holdingPollMs);
  }
  return { ms, reviews: (await world.reviews()) - reviewsBefore, ...world.recorder.costs(fromMs) };
}

/** A, B, C, A, B, C …: what else the machine does meets all of them alike. */
async function inTurns(
  row: EverydayRow,
  repetitions: number,
  run: (row: EverydayRow, guard: Guard) => Promise<Run>,
): Promise<ReadonlyMap<Guard, readonly Run[]>> {
  const runs = new Map<Guard, Run[]>(row.guards.map((guard) => [guard, []]));
  for (let turn = 0; turn < repetitions; turn++) {
    for (const [guard, done] of runs) done.push(await run(row, guard));
  }
  return runs;
}

const names: Readonly<Record<Guard, string>> = {
  nothing: "unprotected",
  "allow-all": "a webhook that allows everything",
  budgets: "PodDisruptionBudgets",
  podseidon: "Podseidon",
};

function rowOf(row: EverydayRow, runs: ReadonlyMap<Guard, readonly Run[]>): Row {
  const median = (guard: Guard, of: (run: Run) => number): number => quantile((runs.get(guard) ?? []).map(of), 0.5);
  const secondsOf = (guard: Guard): string => `${(median(guard, ({ ms }) => ms) / 1000).toFixed(1)} s`;
  const [base = "nothing", ...others] = row.guards.filter((guard) => guard !== "podseidon");
  const besides = [base, ...others, "podseidon" as const].map((guard) => {
    const count = (name: Exclude<keyof Run, "ms">): string => median(guard, (run) => run[name]).toFixed(0);
    const refusals = `refusals ${count("refused")} of ${count("admitted")} admitted`;
    const ofPodseidon =
      guard === "podseidon"
        ? `, unnecessary ${count("unnecessary")}, status writes ${count("statusWrites")}, quota back after ` +
          `p50 ${count("quotaBackP50Ms")} ms`
        : "";
    const longest = `longest deletion ${count("longestDeletionMs")} ms`;
    return `${names[guard]}: ${secondsOf(guard)}, reviews ${count("reviews")}, ${refusals}, ${longest}${ofPodseidon}`;
  });
  const unnecessary = median("podseidon", (run) => run.unnecessary);
  const unnecessaryMax = row.isCalm ? 0 : median("podseidon", (run) => run.admitted) / admittedPerUnnecessary;
  return {
    what: row.what,
    figure: secondsOf("podseidon"),
    comparedWith: `${names[base]} ${secondsOf(base)}`,
    ratio: median(base, ({ ms }) => ms) / median("podseidon", ({ ms }) => ms),
    ...(row.longerMax !== undefined && { goal: Math.round(100 / row.longerMax) / 100 }),
    ...(unnecessary > unnecessaryMax && {
      exceeded: `${unnecessary} unnecessary refusals, promised are at most ${unnecessaryMax.toFixed(0)}`,
    }),
    besides,
  };
}
