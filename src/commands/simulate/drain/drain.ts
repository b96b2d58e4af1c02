/** `podseidon simulate drain NODE... --cell CELL`. */
import { Problem } from "../../../config/reading/problem.ts";
import { quote } from "../../../config/types/value-type.ts";
import { isKubeError, type Resource } from "../../../kube/kube-client.ts";
import { type OpenClusters } from "../../clusters/open.ts";
import { readingOne } from "../../clusters/reading.ts";
import { type CommandContext, type CommandEnd, valueOf, wrongUsage } from "../../command.ts";
import { planDrain } from "../drain-plan.ts";
import { readBudgets, readGuards, readPods, type Simulation, type Worker, workerOf } from "../reads.ts";
import { type SimulatedPod } from "../simulated-pods.ts";
import { drainJSON, drainReport, drainText } from "./drain-report.ts";

const nodeResource: Resource = { group: "", version: "v1", resource: "nodes" };
/** Drained in one call: each is a list of pods, and kubectl takes hours for so many. */
const nodesMax = 200;

/** Exit code 1 when the drain would not end, or when something that it depends on cannot be read. */
export async function simulateDrain(
  names: readonly string[],
  clusters: OpenClusters,
  { context, options, output }: Simulation,
): Promise<CommandEnd> {
  const nodeNames = [...new Set(names)];
  if (nodeNames.length === 0) return wrongUsage("simulate drain: name one node at least");
  if (nodeNames.length > nodesMax) return wrongUsage(`simulate drain: at most ${nodesMax} nodes are allowed`);
  const worker = workerOf(options, clusters);
  if (worker instanceof Problem) return wrongUsage(`simulate drain: ${worker.message}`);
  const guards = await readGuards(clusters, undefined, context);
  if (!guards.ok) return failed(guards.problem);
  const labelSelector = valueOf(options, "pod-selector");
  const nodes: { name: string; pods: readonly SimulatedPod[] }[] = [];
  for (const name of nodeNames) {
    const absent = await absenceOf(name, worker, context);
    if (absent !== undefined) return failed(absent);
    const listed = await readPods(worker, { node: name, labelSelector }, context.signal);
    if (!listed.ok) return failed(listed.problem);
    nodes.push({ name, pods: listed.value });
  }
  const budgets = await readBudgets(worker, context);
  const plan = planDrain({ ...guards.value, cellID: worker.cell, nodes, budgets });
  const { protectors } = guards.value;
  const report = drainReport(plan, { nodes: nodeNames, cell: worker.cell, protectors });
  context.write(output === "json" ? drainJSON(report) : drainText(report, context.terminal));
  return { exitCode: report.isEndless ? 1 : 0 };
}

/** Why the node cannot be drained. Undefined = it is there, or one may not look. */
async function absenceOf(
  name: string,
  { client, cell }: Worker,
  { signal }: CommandContext,
): Promise<string | undefined> {
  const read = await readingOne(client, { resource: nodeResource, name }, signal);
  if (read.ok || read.isForbidden) return undefined;
  return isKubeError(read.error, "notFound") ? `cell ${cell} has no node ${quote(name)}` : read.problem;
}

function failed(problem: string): CommandEnd {
  return { exitCode: 1, problem };
}
