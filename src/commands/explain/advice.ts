/** What a person can do about a refusal: commands that work, the mildest first. */
import { annotations, finalizer, overrides, sourceLabels } from "../../api/v1alpha1/names.ts";
import { type RefusingVerdict, type Verdict } from "../../accounting/reserve/reservation.ts";
import { assertNever } from "../../util/assert.ts";
import { holds, type Standing } from "../fleet/standing.ts";
import { type AskedPod } from "./judged.ts";

/** `kubectl rollout restart` makes the new pod first, so that the old one may go. */
const restartable: ReadonlySet<string> = new Set(["Deployment"]);

/** Empty = nothing is refused. One line each. */
export function adviceOn(
  standing: Standing,
  verdict: Verdict,
  asked: AskedPod | undefined,
  program: string,
): readonly string[] {
  const refusing = verdict.kind === "admitted" ? undefined : verdict;
  if (refusing === undefined) return [];
  const lines = [...waysOut(standing, refusing, program)];
  if (asked !== undefined) {
    const { namespace, name } = asked.pod;
    const force = `kubectl -n ${namespace} annotate pod ${name} ${annotations.forceDelete}=`;
    lines.push(`last resort, which the webhook records: ${force}  and then delete the pod`);
  }
  return lines;
}

function waysOut(standing: Standing, verdict: RefusingVerdict, program: string): readonly string[] {
  switch (verdict.kind) {
    case "rejected":
      return verdict.missed === undefined ? floorWays(standing, program) : silenceWays(verdict.missed, program);
    case "retry":
      return verdict.missed === undefined
        ? ["wait: what is promised settles by itself; kubectl drain repeats by itself"]
        : silenceWays(verdict.missed, program);
    case "counts-pending":
      return [
        `wait for the aggregator of cell ${verdict.awaited.join(", ")}, and look whether it runs: ${program} status`,
      ];
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

function silenceWays(cells: readonly string[], program: string): readonly string[] {
  const [cell = "CELL"] = cells;
  return [
    `look after the aggregator of cell ${cells.join(", ")}: whether it runs and reaches both clusters`,
    `only if nothing else takes pods away there: ${program} cells keep ${cell} --for 2h`,
    `if that cluster is gone for good: ${program} cells forget ${cell}`,
  ];
}

function floorWays({ protector, namespace }: Standing, program: string): readonly string[] {
  const { labels = {}, finalizers = [], name: own } = protector.metadata;
  const kind = labels[sourceLabels.kind];
  const name = labels[sourceLabels.name];
  if (kind === undefined || name === undefined || !finalizers.includes(finalizer)) {
    return [
      "wait until more pods are available, or scale the workload up",
      `kubectl -n ${namespace} edit podprotector ${own}   (spec.minAvailable)`,
    ];
  }
  const resource = kind.toLowerCase();
  if (holds(protector, "Dangling")) {
    return [`create ${kind} ${name} again; or, if it is gone for good: ${program} release ${namespace}/${own}`];
  }
  const lower = `kubectl -n ${namespace} annotate ${resource} ${name} ${overrides.maxUnavailable}=1 --overwrite`;
  if (holds(protector, "Undrainable")) {
    const restart = `kubectl -n ${namespace} rollout restart ${resource} ${name}`;
    return [
      ...(restartable.has(kind) ? [`replace its pods one after the other: ${restart}`] : []),
      `let one go: ${lower}`,
    ];
  }
  return ["wait until more pods are available", `let at least one go, in the core: ${lower}`];
}
