/** Mistakes in the planner of `podseidon simulate drain`, which a drain that follows must bring to light. */
import { type Mutation } from "../mutations/mutation.ts";

export interface PlantedError extends Mutation {
  /** Of a cluster in which it shows. */
  readonly seed: number;
}

const folder = "commands/simulate";

export const plantedErrors: readonly PlantedError[] = [
  {
    name: "nobody-replaces",
    why: "controllers replace the pods that have gone",
    file: `${folder}/drain-plan.ts`,
    find: "isReplaced: pod.controllerKind !== undefined",
    replace: "isReplaced: false",
    seed: 3,
  },
  {
    name: "all-are-replaced",
    why: "a pod without a controller is not replaced",
    file: `${folder}/drain-plan.ts`,
    find: "isReplaced: pod.controllerKind !== undefined",
    replace: "isReplaced: true",
    seed: 32,
  },
  {
    name: "unready-stay-unready",
    why: "in place of a pod that was not available there is one that is",
    file: `${folder}/guard.ts`,
    find: "(isReplaced ? 1 : 0) - (meets",
    replace: "(isReplaced && meets(criterion, pod, minReadySeconds, now) ? 1 : 0) - (meets",
    seed: 3,
  },
  {
    name: "shadow-refuses",
    why: "a PodProtector in shadow refuses nothing",
    file: `${folder}/guard.ts`,
    find: "refusals.filter((refusal) => !isShadow(refusal))",
    replace: "refusals.filter((refusal) => isShadow(refusal) || true)",
    seed: 8,
  },
  {
    name: "all-are-heard",
    why: "a silent cell counts for nothing",
    file: `${folder}/reads.ts`,
    find: "silentFor(cellsOf.get(core)?.cells.get(cellID)?.glance, uid)",
    replace: "(void [silentFor, cellsOf, core, cellID, uid], undefined)",
    seed: 28,
  },
  {
    name: "no-budgets",
    why: "an eviction meets PodDisruptionBudgets, too",
    file: `${folder}/drain-plan.ts`,
    find: "if (refusal !== undefined) return",
    replace: "if (refusal !== undefined && round < 0) return",
    seed: 8,
  },
  {
    name: "nothing-is-promised",
    why: "what is admitted is promised",
    file: `${folder}/guard.ts`,
    find: "if (next !== undefined) judge.view = next;",
    replace: "if (next === undefined) judge.view = next;",
    seed: 14,
  },
  {
    name: "one-is-enough",
    why: "all PodProtectors that count a pod have to agree",
    file: `${folder}/guard.ts`,
    find: "const opinions = judges.map(",
    replace: "const opinions = judges.slice(0, 1).map(",
    seed: 12,
  },
  {
    name: "promises-never-settle",
    why: "what was promised settles before the next round",
    file: `${folder}/guard.ts`,
    find: "return { cellID, aggregation: recounted(",
    replace: "return { ...status.cells.find((one) => one.cellID === cellID), cellID, aggregation: recounted(",
    seed: 12,
  },
  {
    name: "one-round",
    why: "before the second round, what was promised to others settles",
    file: `${folder}/drain-plan.ts`,
    find: "if (gone.length === 0 && round > 1) break;",
    replace: "if (gone.length === 0) break;",
    seed: 219,
  },
  {
    name: "last-names-first",
    why: "evictions are asked for in the order of names",
    file: `${folder}/drain-plan.ts`,
    find: "(a.key < b.key ? -1 : 1)",
    replace: "(a.key > b.key ? -1 : 1)",
    seed: 8,
  },
  {
    name: "static-pods-go",
    why: "kubectl leaves static pods where they are",
    file: `${folder}/simulated-pods.ts`,
    find: 'if (isMirror) return "mirror";',
    replace: "",
    seed: 4,
  },
  {
    name: "unready-pods-are-judged",
    why: "the DELETE of a pod that meets nobody's criterion passes whatever the PodProtectors are",
    file: `${folder}/guard.ts`,
    find: 'if (operation !== "delete") return false;',
    replace: 'if (operation !== "delete" || pod.isReady || criterion === undefined) return false;',
    seed: 6,
  },
];
