/** The schemas of labels and label selectors, and how selectors of objects that are not ours are read. */
import * as v from "valibot";
import { type LabelSelector } from "./pod-protector.ts";

/**
 * A map of strings, kept as it is. valibot's own record leaves out keys such as "constructor" and "prototype", which
 * are valid label keys: a selector without them would select other pods.
 */
export const stringMap = v.custom<Readonly<Record<string, string>>>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === "string"),
  "a map of strings is needed",
);

/** The fields of a requirement of a metav1.LabelSelector. */
export const requirementFields = {
  key: v.string(),
  operator: v.picklist(["In", "NotIn", "Exists", "DoesNotExist"]),
  values: v.optional(v.array(v.string())),
};

/** The fields of a metav1.LabelSelector whose requirements are read by `requirement`. */
export function selectorFields<R extends v.GenericSchema>(requirement: R) {
  return { matchLabels: v.optional(stringMap), matchExpressions: v.optional(v.array(requirement)) };
}

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
