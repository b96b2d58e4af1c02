/**
 * Whether nothing has gone wrong in a world since it was told to be well: when it had begun, and when everything was
 * mended. What people and controllers do all day is no fault, however much of it there is. Scenarios, whose faults are
 * scripted, never say that all is well.
 */
import { type Kernel } from "../kernel/kernel.ts";
import { type FaultClass, sourceClasses } from "../fault-classes.ts";
import { type Plan } from "../plan.ts";

/** They harm nobody whose objects are in order. */
const everydayLife: ReadonlySet<string> = new Set<FaultClass>([
  "flapping-pods",
  "relabelled-pods",
  "edits",
  "erasures",
  "disasters",
  "evictions",
  "other-refusals",
  "bystanders",
  "odd-deployments",
  "hostile-protectors",
  "go-components",
  "forbidden-fences",
  "core-policies",
  "odd-reviews",
  "namespace-labels",
  "mass-changes",
  "modes",
  "preconditions",
  ...sourceClasses,
]);
/** They do not strike, but last from the beginning to the end. */
const lasting: readonly FaultClass[] = ["latency", "resets", "lost-responses", "slow-reviews", "late-cells"];

/**
 * Whether nothing keeps those who are left from noticing at once that something is lost. Machines that sleep may:
 * actors/strikes/suspensions.ts says when the time begins anew.
 */
export function isLossNoticed({ faults }: Plan): boolean {
  return [...faults].every((name) => name === "losses" || name === "suspensions" || everydayLife.has(name));
}

export class Calm {
  readonly #plan: Plan;
  readonly #kernel: Pick<Kernel, "nowMs">;
  #wellSinceMs: number | undefined;

  constructor(plan: Plan, kernel: Pick<Kernel, "nowMs">) {
    this.#plan = plan;
    this.#kernel = kernel;
  }

  /** Clocks stay wrong when all else has been mended, and pods that have just become ready are young by them. */
  get is(): boolean {
    const { faults } = this.#plan;
    return this.#wellSinceMs !== undefined && !faults.has("clocks") && !faults.has("node-clocks");
  }

  /** Since when nothing has gone wrong, wrong clocks aside; undefined = something has. */
  get sinceMs(): number | undefined {
    return this.#wellSinceMs;
  }

  /** The faults of the plan begin. */
  begin(): void {
    if (lasting.some((name) => this.#plan.severity(name) > 0)) this.#wellSinceMs = undefined;
  }

  /** A fault strikes, or somebody acts. */
  struck(what: string): void {
    if (!everydayLife.has(what)) this.#wellSinceMs = undefined;
  }

  /** All is well, and whoever had to notice has done so. */
  allIsWell(): void {
    this.#wellSinceMs = this.#kernel.nowMs;
  }
}
