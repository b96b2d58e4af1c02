/** What a person can do about a refusal: commands that work, the mildest first. */
import { annotations, finalizer, overrides, sourceLabels } from "../../api/v1alpha1/names.ts";
import { type RefusingVerdict, type Verdict } from "../../accounting/reserve/reservation.ts";
import { assertNever } from "../../util/assert.ts";
import { holds, type Standing } from "../fleet/standing.ts";
import { type AskedPod } from "./judged.ts";

/** `kubectl rollout restart` makes the new pod first, so that the old one may go. */
const restartable: ReadonlySet<string> = new Set(["Deployment"]);

export interface Advice {
  readonly text: string;
  /** For a shell. */
  readonly command?: string;
}

/** Empty = nothing is refused. */
export function adviceOn(
  standing: Standing,
  verdict: Verdict,
  asked: AskedPod | undefined,
  program: string,
): readonly Advice[] {
  if (verdict.kind === "admitted") return [];
  const ways = [...waysOut(standing, verdict, program)];
  if (asked !== undefined) {
    const { namespace, name } = asked.pod;
    ways.push({
      text: "last resort, which is recorded: force it, and then delete the pod",
      command: `kubectl -n ${namespace} annotate pod ${name} ${annotations.forceDelete}=`,
    });
  }
  return ways;
}

function waysOut(standing: Standing, verdict: RefusingVerdict, program: string): readonly Advice[] {
  switch (verdict.kind) {
    case "rejected":
      return verdict.missed === undefined ? floorWays(standing, program) : silenceWays(verdict.missed, program);
    case "retry":
      return verdict.missed === undefined
        ? [{ text: "wait: what is promised settles by itself, and kubectl drain repeats by itself" }]
        : silenceWays(verdict.missed, program);
    case "counts-pending": {
      const text = `wait for the aggregator of cell ${verdict.awaited.join(", ")}, and look whether it is heard`;
      return [{ text, command: `${program} cells list` }];
    }
    case "cell-silent": {
      const silent = standing.figures.cells.filter(({ silentForMs }) => silentForMs !== undefined);
      return silenceWays(
        silent.map(({ cellID }) => cellID),
        program,
      );
    }
    default:
      return assertNever(verdict);
  }
}

function silenceWays(cells: readonly string[], program: string): readonly Advice[] {
  const [cell = "CELL"] = cells;
  return [
    { text: `look after the aggregator of cell ${cells.join(", ")}: whether it runs and reaches both clusters` },
    {
      text: "only if nothing else takes pods away there, keep its last counts in force",
      command: `${program} cells keep ${cell} --for 2h`,
    },
    { text: "if that cluster is gone for good, retire the cell", command: `${program} cells forget ${cell}` },
  ];
}

function floorWays({ protector, namespace, available, promised }: Standing, program: string): readonly Advice[] {
  const { labels = {}, finalizers = [], name: own } = protector.metadata;
  const kind = labels[sourceLabels.kind];
  const name = labels[sourceLabels.name];
  const wait = { text: "wait until more pods are available, or scale the workload up" };
  if (kind === undefined || name === undefined || !finalizers.includes(finalizer)) {
    const command = `kubectl -n ${namespace} edit podprotector ${own}`;
    return [wait, { text: "lower spec.minAvailable, in the core", command }];
  }
  const resource = kind.toLowerCase();
  if (holds(protector, "Dangling")) {
    const command = `${program} release ${namespace}/${own}`;
    return [{ text: `create ${kind} ${name} again; or if it is gone for good, let the floor go`, command }];
  }
  // One fewer than there are, however far below the floor that is. Only one of the two annotations may be there.
  const floor = Math.max(0, available - promised - 1);
  const change = `${overrides.minAvailable}=${floor} ${overrides.maxUnavailable}-`;
  const lower = {
    text: `let one go: lower the floor to ${floor} in the core, and take the annotation off again afterwards`,
    command: `kubectl -n ${namespace} annotate ${resource} ${name} ${change} --overwrite`,
  };
  if (!holds(protector, "Undrainable")) return [wait, lower];
  const restart = `kubectl -n ${namespace} rollout restart ${resource} ${name}`;
  const replace = { text: "replace its pods one after the other", command: restart };
  return restartable.has(kind) ? [replace, lower] : [lower];
}
