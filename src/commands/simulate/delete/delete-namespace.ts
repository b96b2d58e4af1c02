/** `podseidon simulate delete namespace NAME --cell CELL`. */
import { Problem } from "../../../config/reading/problem.ts";
import { printable } from "../../../util/printable.ts";
import { floorOwnerOf } from "../../../webhook/decide/refusals/floor-owner.ts";
import { type OpenClusters } from "../../clusters/open.ts";
import { type CommandEnd, wrongUsage } from "../../command.ts";
import { jsonText } from "../../text/format.ts";
import { judgeDeletions, obstaclesOfDeletions } from "../deletions.ts";
import { type Guarding } from "../guard.ts";
import { readGuards, readPods, type Simulation, workerOf } from "../reads.ts";
import { obstacleLines, type Step, stepLines } from "../steps.ts";

interface NamespaceEnd {
  readonly namespace: string;
  readonly cell: string;
  readonly pods: number;
  readonly admitted: number;
  readonly refused: number;
  /** PodProtectors of the namespace that have a floor: those of workloads, and those that people made. */
  readonly generated: number;
  readonly handMade: number;
  /** The core was given as the cluster of the pods, too. */
  readonly isOneCluster: boolean;
}

/**
 * Exit code 1 when pods of the cell would be refused while the core keeps its namespace, or something cannot be read.
 */
export async function simulateDeleteNamespace(
  namespace: string,
  clusters: OpenClusters,
  { context, options, output }: Simulation,
): Promise<CommandEnd> {
  const worker = workerOf(options, clusters);
  if (worker instanceof Problem) return wrongUsage(`simulate delete: ${worker.message}`);
  const guards = await readGuards(clusters, namespace, context);
  if (!guards.ok) return { exitCode: 1, problem: guards.problem };
  const listed = await readPods(worker, { namespace }, context.signal);
  if (!listed.ok) return { exitCode: 1, problem: listed.problem };
  const pods = listed.value.toSorted(({ record: a }, { record: b }) => (a.key < b.key ? -1 : 1));
  const judged = judgeDeletions(guards.value, pods, worker.cell);
  const refused = judged.filter(({ answer }) => answer.kind === "refused").length;
  const { protectors } = guards.value;
  const withFloor = protectors.filter(hasFloor);
  const generated = withFloor.filter(isGenerated).length;
  const end: NamespaceEnd = {
    namespace,
    cell: worker.cell,
    pods: pods.length,
    admitted: pods.length - refused,
    refused,
    generated,
    handMade: withFloor.length - generated,
    isOneCluster: clusters.cores.values().some((core) => core === worker.client),
  };
  const steps = stepsOf(end);
  const obstacles = obstaclesOfDeletions(judged, protectors, worker.cell);
  if (output === "json") context.write(jsonText({ ...end, steps, obstacles }));
  else {
    const { terminal } = context;
    context.write([...stepLines(steps, terminal), ...obstacleLines(obstacles, terminal)].join(""));
  }
  return { exitCode: refused > 0 && !end.isOneCluster ? 1 : 0 };
}

function hasFloor({ state }: Guarding): boolean {
  return state.kind === "unusable" || state.view.protector.spec.minAvailable > 0;
}

function isGenerated({ state }: Guarding): boolean {
  return state.kind === "valid" && floorOwnerOf(state.view.protector) !== undefined;
}

function stepsOf(end: NamespaceEnd): readonly Step[] {
  const { pods, admitted, refused, cell } = end;
  const asked =
    `Pods of cell ${printable(cell)} in namespace ${printable(end.namespace)}: ${pods}. If their deletions were all ` +
    `asked for now, ${admitted} would be admitted and ${refused} refused.`;
  const stays =
    "Nothing replaces pods in a terminating namespace, so a floor that stays in force keeps them, and the namespace " +
    "with them. The API server stops at the first pod that is refused, and tries again after up to a minute.";
  return [{ isJudged: true, text: asked }, ...(refused === 0 ? [] : [{ isJudged: true, text: stays }]), ...ofCore(end)];
}

function ofCore({ generated, handMade, isOneCluster }: NamespaceEnd): readonly Step[] {
  if (generated + handMade === 0)
    return [{ isJudged: true, text: "The cores have no PodProtectors with a floor in this namespace." }];
  const kinds =
    `PodProtectors with a floor here: ${generated} of workloads, ${handMade} made by hand. Those of workloads are ` +
    "released when these are deleted with the namespace, and the others go with it. Then nothing keeps the pods.";
  const held = isOneCluster
    ? "The core has the pods itself, so this happens at once, and is not held however many they are."
    : "If the namespace is deleted in this cell only, they stay in force, as their workloads are in the core. In the " +
      "core its deletion counts as one change of the cause namespaces: more than 20 such within ten minutes are held.";
  return [
    { isJudged: false, text: kinds },
    { isJudged: false, text: held },
  ];
}
