/** `podseidon simulate delete pod NAME... -n NAMESPACE --cell CELL`. */
import { objectKey } from "../../../api/object-key.ts";
import { Problem } from "../../../config/reading/problem.ts";
import { assertNever } from "../../../util/assert.ts";
import { printable } from "../../../util/printable.ts";
import { type OpenClusters } from "../../clusters/open.ts";
import { type CommandEnd, type Terminal, wrongUsage } from "../../command.ts";
import { type Row, table } from "../../text/table.ts";
import { jsonText } from "../../text/format.ts";
import { type JudgedDeletion, judgeDeletions, obstaclesOfDeletions } from "../deletions.ts";
import { type Answer } from "../guard.ts";
import { obstacleLines } from "../steps.ts";
import { readGuards, readPods, type Simulation, workerOf } from "../reads.ts";

/** Exit code 1 when one would be refused, or something cannot be read. */
export async function simulateDeletePods(
  names: readonly string[],
  clusters: OpenClusters,
  { context, options, output }: Simulation,
): Promise<CommandEnd> {
  const worker = workerOf(options, clusters);
  if (worker instanceof Problem) return wrongUsage(`simulate delete: ${worker.message}`);
  const { objectNamespace: namespace } = clusters;
  const guards = await readGuards(clusters, namespace, context);
  if (!guards.ok) return { exitCode: 1, problem: guards.problem };
  const listed = await readPods(worker, { namespace }, context.signal);
  if (!listed.ok) return { exitCode: 1, problem: listed.problem };
  const pods = [];
  for (const name of new Set(names)) {
    const pod = listed.value.find(({ record }) => record.name === name);
    if (pod === undefined) {
      const problem = printable(`cell ${worker.cell} has no pod ${objectKey(namespace, name)}`);
      return { exitCode: 1, problem };
    }
    pods.push(pod);
  }
  const judged = judgeDeletions(guards.value, pods, worker.cell);
  const obstacles = obstaclesOfDeletions(judged, guards.value.protectors, worker.cell);
  if (output === "json") context.write(json(worker.cell, judged, obstacles));
  else context.write([deletionTable(judged, context.terminal), ...obstacleLines(obstacles, context.terminal)].join(""));
  return { exitCode: obstacles.length === 0 ? 0 : 1 };
}

function deletionTable(judged: readonly JudgedDeletion[], terminal: Pick<Terminal, "columns" | "isColoured">): string {
  const rows = judged.map(({ pod, protectors, answer }): Row => {
    const isRefused = answer.kind === "refused";
    const by = isRefused ? answer.refusals.map(({ id }) => id) : protectors;
    const cells: Row["cells"] = [
      pod.record.key,
      { text: isRefused ? "refused" : "admitted", tone: isRefused ? "bad" : "good" },
      by.length === 0 ? "-" : by.join(", "),
      whyText(answer),
    ];
    return { cells };
  });
  const columns = [
    { title: "POD", shrinksTo: 16 },
    { title: "DELETION" },
    { title: "PODPROTECTORS", shrinksTo: 16 },
    { title: "WHY" },
  ];
  return table(columns, rows, terminal);
}

/** At most 16 characters. */
function whyText(answer: Answer): string {
  if (answer.kind === "refused") return "see below";
  if (answer.shadowed.length > 0) return "only in shadow";
  switch (answer.why) {
    case "unguarded":
      return "not protected";
    case "ended":
      return "has ended";
    case "forced":
      return "forced";
    case "free":
      return "takes 1 free";
    case "unneeded":
      return "takes none free";
    default:
      return assertNever(answer.why);
  }
}

function json(
  cell: string,
  judged: readonly JudgedDeletion[],
  obstacles: ReturnType<typeof obstaclesOfDeletions>,
): string {
  const pods = judged.map(({ pod, protectors, answer }) => ({
    namespace: pod.record.namespace,
    name: pod.record.name,
    answer: answer.kind,
    ...(answer.kind === "admitted" && { why: answer.why, shadowed: answer.shadowed.map(({ id }) => id) }),
    podProtectors: protectors,
  }));
  return jsonText({ cell, pods, obstacles });
}
