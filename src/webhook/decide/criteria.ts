/** Which health criterion a deletion is judged by: annotations may ask for another one than Available. */
import { type Labels } from "../../api/pod.ts";
import { type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import type { CriterionAnnotation } from "../../config/config.ts";

/** The first of `choices` whose annotation is there with its value; none = Available. */
export function criterionOf(annotations: Labels, choices: readonly CriterionAnnotation[]): HealthCriterion {
  for (const { criterion, annotation } of choices) {
    if (Object.hasOwn(annotations, annotation.key) && annotations[annotation.key] === annotation.value)
      return criterion;
  }
  return "Available";
}
