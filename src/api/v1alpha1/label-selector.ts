/** Reads label selectors of objects that are not ours. */
import * as v from "valibot";
import { requirementFields, selectorFields } from "../label-schema.ts";
import { type LabelSelector } from "./pod-protector.ts";

/** A metav1.LabelSelector. It leaves out unknown fields. */
export const selectorField = v.pipe(
  v.object(selectorFields(v.object(requirementFields))),
  v.transform((selector) => selector as LabelSelector),
);

/**
 * `spec.selector` of a workload: a LabelSelector, or of a ReplicationController labels. Undefined when it is neither,
 * or selects everything.
 */
export function readPodSelector(raw: unknown, isLabels: boolean): LabelSelector | undefined {
  const read = v.safeParse(selectorField, isLabels ? { matchLabels: raw } : raw);
  return read.success && isFilled(read.output) ? read.output : undefined;
}

/** Whether it does not select everything. */
export function isFilled({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length > 0 || matchExpressions.length > 0;
}
