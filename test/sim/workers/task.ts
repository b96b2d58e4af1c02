/** One run as a task for a worker: what goes in and what comes out can both be sent between threads. */
import { createSeededRng } from "../../support/seeded-rng.ts";
import { runWorld } from "../run.ts";
import { type Exclusion, type ExclusionUse } from "../checkers/accounting/exclusions.ts";
import { type FaultClass } from "../fault-classes.ts";
import { drawPlan, type Plan } from "../plan.ts";
import { type World } from "../world.ts";

/** What of a plan can be set from outside; its faults are set by `only`. */
export type PlanSettings = Partial<Omit<Plan, "faults" | "severity" | "rates">>;

export interface RunTask {
  readonly seed: number;
  /** Default: observed. */
  readonly algorithm?: string;
  /** Only these fault classes, instead of the seed's. */
  readonly only?: readonly FaultClass[];
  readonly plan?: PlanSettings;
  readonly argv?: readonly string[];
}

export interface RunOutcome {
  readonly task: RunTask;
  /** What is wrong, if anything is. */
  readonly finding: string | undefined;
  readonly deletions: number;
  readonly admitted: number;
  readonly refused: number;
  /** Admissions that took a workload under its floor; how far the worst one went. */
  readonly breaches: number;
  readonly worstDepth: number;
  /** Broken floors that the restore of a worker excuses (docs/accounting.md, "What is left open"). */
  readonly restoreBreaches: number;
  /** What was excluded from the promise, how often and how long at most. */
  readonly exclusions: ReadonlyMap<Exclusion, ExclusionUse>;
  readonly heldPodSeconds: number;
  readonly virtualMs: number;
  /** The classes that were switched on. */
  readonly faultClasses: readonly FaultClass[];
  /** How often each fault struck. */
  readonly strikes: ReadonlyMap<string, number>;
  readonly digest: string;
  /** The newest events, oldest first. */
  readonly recent: readonly string[];
}

/** The plan of the task's world. */
export function planOf({ seed, only, plan }: RunTask): Plan {
  return { ...drawPlan(createSeededRng(seed), only === undefined ? undefined : new Set(only)), ...plan };
}

/** `onWorld` is told of the world before it runs. Never rejects for anything that the product does. */
export async function runTask(task: RunTask, onWorld: (world: World) => void = () => {}): Promise<RunOutcome> {
  const { only, ...options } = task;
  const result = await runWorld({ ...options, ...(only === undefined ? {} : { only: new Set(only) }), onWorld });
  const { deletions, admitted, refused, breaches, restoreBreaches, faults } = result.totals;
  return {
    task,
    finding: result.failure?.message,
    deletions,
    admitted,
    refused,
    breaches: breaches.length,
    restoreBreaches: restoreBreaches.length,
    worstDepth: Math.max(0, ...breaches.map(({ minAvailable, standing }) => minAvailable - standing)),
    exclusions: result.exclusions,
    heldPodSeconds: result.heldPodSeconds,
    virtualMs: result.virtualMs,
    faultClasses: [...planOf(task).faults],
    strikes: faults,
    digest: result.digest,
    recent: result.recent,
  };
}

/** The outcome of a run that took its worker with it: nothing is known of it but why. */
export function lostOutcome(task: RunTask, finding: string): RunOutcome {
  return {
    task,
    finding,
    deletions: 0,
    admitted: 0,
    refused: 0,
    breaches: 0,
    restoreBreaches: 0,
    worstDepth: 0,
    exclusions: new Map(),
    heldPodSeconds: 0,
    virtualMs: 0,
    faultClasses: [...planOf(task).faults],
    strikes: new Map(),
    digest: "",
    recent: [],
  };
}
