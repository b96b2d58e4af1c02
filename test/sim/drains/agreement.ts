/**
 * Whether `podseidon simulate drain` agrees with the drain that follows in the same cluster: the same pods go at once,
 * the same have to wait, and the same never go. Before that, `podseidon simulate delete pod` is compared with what the
 * webhook answers to a dry run, for each pod.
 */
import { runCommand } from "../../../src/commands/index.ts";
import { type CommandSurroundings } from "../../../src/commands/command.ts";
import { asArray, asObject, asString, type JsonObject } from "../../double/engine/object.ts";
import { namespace } from "../clusters/namespaces.ts";
import { EngineClient } from "../../support/engine-client.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { drain, type Drained, updateBudgets } from "./kubectl-drain.ts";
import { podsOf, tryDelete } from "./pods.ts";
import { createRandomCluster, type RandomCluster } from "./random-cluster.ts";

/** Of the Leases of cells in a world. */
const leaseNamespace = "default";

export interface Agreement {
  readonly seed: number;
  /** Empty = plan and drain agree, and no checker of the world has found anything. */
  readonly findings: readonly string[];
  readonly drained: Drained;
  readonly story: readonly string[];
  /** Kinds of obstacles that the plan has named. */
  readonly obstacles: readonly string[];
}

interface Planned {
  readonly exitCode: number;
  readonly fates: Readonly<Record<"at-once" | "later" | "never", readonly string[]>>;
  readonly stuckAt: string | undefined;
  readonly obstacles: readonly string[];
}

export async function agreementOf(seed: number): Promise<Agreement> {
  const cluster = await createRandomCluster(seed);
  const { stage, story } = cluster;
  await updateBudgets(cluster);
  const deletions = await deletionFindings(cluster);
  const planned = await planOf(cluster);
  const drained = await drain(cluster);
  const { fates, stuckAt } = planned;
  // kubectl never begins with these, and the plan says only what would come of it.
  const begun = (names: readonly string[]): string[] =>
    names.filter((name) => !drained.untouched.includes(name)).sort();
  const findings = [
    ...deletions,
    ...differences("at once", begun(fates["at-once"]), drained.atOnce),
    ...differences("later", begun(fates.later), drained.later),
    ...differences("never", begun(fates.never), drained.never),
    ...(stuckAt === drained.stuckAt ? [] : [`stuck at ${drained.stuckAt}, and not at ${stuckAt}`]),
    ...(planned.exitCode === (drained.stuckAt === undefined ? 0 : 1) ? [] : [`the exit code is ${planned.exitCode}`]),
    ...stage.findings,
  ];
  return { seed, findings, drained, story, obstacles: planned.obstacles };
}

function differences(what: string, planned: readonly string[], really: readonly string[]): string[] {
  const missed = really.filter((name) => !planned.includes(name));
  const wrong = planned.filter((name) => !really.includes(name));
  return [
    ...(missed.length === 0 ? [] : [`${what}, but not by the plan: ${missed.join(", ")}`]),
    ...(wrong.length === 0 ? [] : [`by the plan ${what}, but not really: ${wrong.join(", ")}`]),
  ];
}

/** Pods whose deletion is judged otherwise by `podseidon simulate delete pod` than by the webhook in a dry run. */
async function deletionFindings(cluster: RandomCluster): Promise<string[]> {
  const { stage } = cluster;
  const findings: string[] = [];
  for (const { metadata } of podsOf(stage.server("a"))) {
    const { name } = metadata;
    const { exitCode, document } = await run(cluster, ["delete", "pod", name, `--namespace=${namespace}`]);
    const [judged] = asArray(document["pods"]).map(asObject);
    const answer = await stage.ask(`a/${name}`, "none", tryDelete);
    const isAllowed = answer === "allowed";
    if ((judged?.["answer"] === "admitted") !== isAllowed) findings.push(`the deletion of ${name} is ${answer}`);
    if ((exitCode === 0) !== isAllowed) findings.push(`the exit code for ${name} is ${exitCode}`);
  }
  return findings;
}

async function planOf(cluster: RandomCluster): Promise<Planned> {
  const { exitCode, document } = await run(cluster, ["drain", ...cluster.drained]);
  const pods = asArray(document["pods"]).map(asObject);
  const namesWith = (fate: string): string[] =>
    pods.filter((pod) => pod["fate"] === fate).map(({ name }) => asString(name) ?? "");
  return {
    exitCode,
    fates: { "at-once": namesWith("at-once"), later: namesWith("later"), never: namesWith("never") },
    stuckAt: asString(document["stuckAt"]),
    obstacles: asArray(document["obstacles"]).map((obstacle) => asString(asObject(obstacle)["kind"]) ?? ""),
  };
}

/** Runs `podseidon simulate` against the clusters of the world. */
async function run(
  { stage }: RandomCluster,
  action: readonly string[],
): Promise<{ readonly exitCode: number; readonly document: JsonObject }> {
  const { world } = stage;
  const engines = new Map([
    ...world.cores.map(({ name, server }) => [name, server.engine] as const),
    ["worker", stage.server("a").engine],
  ]);
  const printed: string[] = [];
  const complaints: string[] = [];
  const surroundings: CommandSurroundings = {
    write: (text) => void printed.push(text),
    complain: (line) => void complaints.push(line),
    program: "podseidon",
    version: "",
    environment: { KUBECONFIG: "/kubeconfig" },
    readFile: () => JSON.stringify({ contexts: [...engines.keys()].map((name) => ({ name, context: {} })) }),
    clock: world.core.node.clock,
    rng: createSeededRng(1),
    signal: new AbortController().signal,
    terminal: { columns: 80, isColoured: false, isInteractive: false },
    async connect({ context = "" }, name) {
      const engine = engines.get(context);
      if (engine === undefined) throw new Error(`there is no context ${context}`);
      return new EngineClient(name, engine);
    },
  };
  const cores = world.cores.map(({ name }) => `--core=${name}=${name}`);
  const where = ["--worker=a=worker", ...cores, `--cell-lease-namespace=${leaseNamespace}`];
  const argv = ["simulate", ...action, ...where, "-o", "json"];
  const { exitCode, problem } = await runCommand(argv, surroundings);
  if (problem !== undefined || complaints.length > 0) throw new Error([problem, ...complaints].join("\n"));
  return { exitCode, document: asObject(JSON.parse(printed.join(""))) };
}
