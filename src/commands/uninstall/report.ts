/** How an uninstall is told: the plan, and what came of it, for people and for programs. */
import { type Terminal } from "../command.ts";
import { lines } from "../text/format.ts";
import { type Step } from "./steps.ts";
import { type Found, nameOf, type Target } from "./target.ts";

/** A step with what it would find now. */
export interface PlannedStep {
  readonly step: Step;
  readonly found: Found;
}

/** Objects of a kind that are named one by one; of more only the first, and how many there are. */
const namedMax = 5;

/** With a line end each. Steps without anything to do say so: the order is the same in every run. */
export function planText(plan: readonly PlannedStep[], terminal: Pick<Terminal, "columns">): string {
  return plan.map(({ step, found }, index) => stepText(index + 1, step, found, terminal.columns)).join("");
}

function stepText(number: number, step: Step, found: Found, columns: number): string {
  const objects = byKind(found.targets);
  const details = [
    ...objects,
    ...found.obstacles.map(({ problem }) => `cannot be seen: ${problem}`),
    ...(found.kept ?? []),
  ];
  if (details.length === 0) details.push("nothing is there");
  return (
    lines(`${number}. ${step.title}`, columns, "   ") +
    details.map((one) => lines(`   ${one}`, columns, "     ")).join("")
  );
}

function byKind(targets: readonly Target[]): readonly string[] {
  return [...Map.groupBy(targets, ({ kind }) => kind)].map(([kind, those]) => {
    const names = those.slice(0, namedMax).map(nameOf).join(", ");
    const more = those.length - namedMax;
    return more > 0 ? `${those.length} × ${kind}: ${names} and ${more} more` : `${kind} ${names}`;
  });
}

/** Whether nothing is there to be done. */
export function isEmpty(plan: readonly PlannedStep[]): boolean {
  return plan.every(({ found: { targets, obstacles } }) => targets.length === 0 && obstacles.length === 0);
}

/** For programs. */
export function planJson(plan: readonly PlannedStep[]): readonly object[] {
  return plan.map(({ step, found: { targets, obstacles, kept = [] } }) => ({
    step: step.title,
    objects: targets.map(({ kind, namespace, name }) => ({
      kind,
      ...(namespace !== undefined && { namespace }),
      name,
    })),
    unseen: obstacles.map(({ problem }) => problem),
    kept,
  }));
}
