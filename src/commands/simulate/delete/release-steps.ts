/**
 * What the deletion of a workload comes to, step by step: it is not reviewed, its PodProtector is released, and then
 * nothing keeps its pods (docs/generator.md#lifecycle, docs/mass-changes.md). Pure.
 */
import { isKeptCause } from "../../../generator/sources/kept.ts";
import { printable } from "../../../util/printable.ts";
import { type Step } from "../steps.ts";

export interface ReleasedWorkload {
  readonly namespace: string;
  readonly name: string;
  /** What its deletion is counted by. */
  readonly cause: string;
  /** The one that is generated for it. Undefined = there is none that can be used. */
  readonly protector: { readonly id: string; readonly mustStay: number; readonly available: number } | undefined;
  readonly cells: readonly { readonly cell: string; readonly available: number }[];
  /** Other PodProtectors that count pods of its template, and refuse. */
  readonly others: readonly string[];
  /** Changes in its namespace are never held. */
  readonly isExempt: boolean;
  /** Undefined = not known. */
  readonly heldCauses: readonly string[] | undefined;
}

/** What stands for all causes together. */
const everything = "core";

export function releaseSteps(workload: ReleasedWorkload): {
  readonly steps: readonly Step[];
  readonly isHeld: boolean;
} {
  const { namespace, name, cause, protector, isExempt, heldCauses = [], others } = workload;
  const what = printable(`Deployment ${namespace}/${name}`);
  const accepted = known(`The API server accepts the deletion of ${what}: webhooks review deletions of pods only.`);
  if (protector === undefined) {
    const none = known(`No PodProtector is generated for it, or it cannot be used; so no floor is lost.`);
    return { steps: [accepted, none, thenPods(workload)], isHeld: false };
  }
  const isLatched = !isExempt && (heldCauses.includes(cause) || heldCauses.includes(everything));
  const isHeld = protector.mustStay > 0 && (isLatched || isKeptCause(cause));
  const release = isHeld ? held(workload, protector.id) : released(workload, protector);
  return { steps: [accepted, ...release, ...(isHeld ? [] : [thenPods(workload)]), ...ofOthers(others)], isHeld };
}

function held({ cause }: ReleasedWorkload, id: string): readonly Step[] {
  const text =
    `Changes of the cause ${printable(cause)} are held now, so ${printable(id)} stays in force and the Deployment ` +
    "stays terminating until a person approves: podseidon approve. Its pods are kept down to the floor meanwhile.";
  return [known(text)];
}

function released(
  { cause, isExempt, heldCauses }: ReleasedWorkload,
  { id, mustStay }: NonNullable<ReleasedWorkload["protector"]>,
): readonly Step[] {
  const name = printable(id);
  if (mustStay === 0) return [expected(`The generator releases ${name} within seconds: it has no floor to lose.`)];
  const steps = [
    expected(
      `Two seconds later the generator releases ${name}, and the ${mustStay} that must stay with it. Until then pods ` +
        "are kept. With --deployment-plugin-protect-non-zero it stays in force while spec.replicas is above 0.",
    ),
  ];
  if (isExempt) return [...steps, known("The label of its namespace says that changes there are never held.")];
  const unknown = heldCauses === undefined ? " Whether any are held now could not be read." : "";
  const limit =
    `It counts as one change of the cause ${printable(cause)}. When more than 20 of one cause, and more than 10 % of ` +
    `all, come within ten minutes, they are held until a person approves (a cascade: more than half of all).${unknown}`;
  return [...steps, expected(limit)];
}

function thenPods({ cells, protector, others }: ReleasedWorkload): Step {
  const perCell = cells.map(({ cell, available }) => `${printable(cell)} ${available}`).join(", ");
  const count =
    protector === undefined ? "its pods" : `all ${protector.available} available pods (${perCell || "none"})`;
  const by = others.length === 0 ? "nothing keeps them any more" : "only other PodProtectors keep them";
  return expected(`Then the garbage collector deletes ${count}, as fast as it can: ${by}.`);
}

function ofOthers(others: readonly string[]): readonly Step[] {
  if (others.length === 0) return [];
  return [
    known(`These PodProtectors count such pods too, and go on keeping them: ${others.map(printable).join(", ")}.`),
  ];
}

function known(text: string): Step {
  return { isJudged: true, text };
}

function expected(text: string): Step {
  return { isJudged: false, text };
}
