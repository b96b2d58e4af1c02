/** What a person can do about a refusal: commands that work, the mildest first. */
import { annotations, overrides } from "../../api/v1alpha1/names.ts";
import { type RefusingVerdict } from "../../accounting/reserve/reservation.ts";
import { assertNever } from "../../util/assert.ts";
import { floorOwnerOf } from "../../webhook/decide/refusals/floor-owner.ts";
import { type Standing } from "../fleet/standing.ts";
import { shellWord } from "../text/format.ts";
import { type AskedPod, type Judged } from "./judged.ts";

export interface Advice {
  readonly text: string;
  /** For a shell. */
  readonly command?: string;
}

/** Empty = nothing is refused. */
export function adviceOn(
  standing: Standing,
  { verdict, unheard }: Pick<Judged, "verdict" | "unheard">,
  asked: AskedPod | undefined,
  program: string,
): readonly Advice[] {
  if (verdict.kind === "admitted") return [];
  const ways = [...(unheard.length > 0 ? lateWays(unheard, program) : waysOut(standing, verdict, program))];
  if (asked !== undefined) {
    const { namespace, name } = asked.pod;
    ways.push({
      text: "last resort, which is recorded: force it, and then delete the pod",
      command: `kubectl -n ${namespace} annotate pod ${name} ${annotations.forceDelete}=`,
    });
  }
  return ways;
}

/** On states that last until a person has decided. */
export function adviceOnStates({ states, namespace, name }: Standing, program: string): readonly Advice[] {
  const ways: Advice[] = [];
  if (states.includes("change held")) {
    ways.push({ text: "look at what else is held, and let it pass or undo it", command: `${program} approve` });
  }
  if (states.includes("foreign pods")) {
    const text = "leave out what cannot be its own: such pods are then neither counted nor protected";
    ways.push({ text, command: `${program} approve foreign-pods -n ${shellWord(namespace)}` });
  }
  if (states.includes("dangling")) {
    const text = "create its workload again; or if that is gone for good, let the floor go";
    ways.push({ text, command: `${program} release ${releasedName(namespace, name)}` });
  }
  return ways;
}

function releasedName(namespace: string, name: string): string {
  return `${shellWord(namespace)}/${shellWord(name)}`;
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
      if (verdict.silentForMs !== undefined) return silenceWays(verdict.awaited, program);
      const text = `wait for the aggregator of cell ${verdict.awaited.join(", ")}, and look whether it is heard`;
      return [{ text, command: `${program} cells list` }];
    }
    case "cell-silent": {
      if (verdict.isRetiring === true)
        return [{ text: "wait until the cell is retired, or take the request back", command: `${program} cells list` }];
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

/** Waiting helps only when they are heard again. */
function lateWays(cells: readonly string[], program: string): readonly Advice[] {
  const text = `look whether the aggregator of cell ${cells.join(", ")} runs: this waits until it is heard again`;
  return [{ text, command: `${program} cells list` }];
}

function silenceWays(cells: readonly string[], program: string): readonly Advice[] {
  const [cell = "CELL"] = cells;
  return [
    { text: `look after the aggregator of cell ${cells.join(", ")}: whether it runs and reaches both clusters` },
    {
      text: "only if nothing else takes pods away there, keep its last counts in force",
      command: `${program} cells keep ${shellWord(cell)} --for 2h`,
    },
    {
      text: "if that cluster is gone for good, retire the cell",
      command: `${program} cells forget ${shellWord(cell)}`,
    },
  ];
}

function floorWays({ protector, namespace, available, promised }: Standing, program: string): readonly Advice[] {
  const own = shellWord(protector.metadata.name);
  const inNamespace = `kubectl -n ${shellWord(namespace)}`;
  const wait = { text: "wait until more pods are available, or scale the workload up" };
  const owner = floorOwnerOf(protector);
  // Of a hand-made one that follows workloads the generator sets the floor, by fields of the PodProtector.
  const [kind = "", ...place] = owner?.name.split(" ") ?? [];
  if (owner === undefined || kind === "PodProtector") {
    const fields = owner?.fields ?? "spec.minAvailable";
    return [
      wait,
      { text: `lower the floor by ${fields}, in the core`, command: `${inNamespace} edit podprotector ${own}` },
    ];
  }
  if (owner.hasVanished) {
    const command = `${program} release ${releasedName(namespace, protector.metadata.name)}`;
    return [{ text: `create ${owner.name} again; or if it is gone for good, let the floor go`, command }];
  }
  const workload = `${shellWord(kind.toLowerCase())} ${shellWord(place.join(" ").replace(/^[^/]*\//, ""))}`;
  // One fewer than there are, however far below the floor that is. Only one of the two annotations may be there.
  const floor = Math.max(0, available - promised - 1);
  const change = `${overrides.minAvailable}=${floor} ${overrides.maxUnavailable}-`;
  const lower = {
    text: `let one go: lower the floor to ${floor} in the core, and put it back afterwards`,
    command: `${inNamespace} annotate ${workload} ${change} --overwrite`,
  };
  if (!owner.isUndrainable) return [wait, lower];
  const { restart } = owner;
  return restart === undefined ? [lower] : [{ text: "replace its pods one after the other", command: restart }, lower];
}
