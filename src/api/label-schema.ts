/** The schemas of labels and label selectors. */
import * as v from "valibot";

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
