/** Labels and the like, as they come from outside. */
import * as v from "valibot";

/**
 * A map of strings, kept as it is. (valibot's own record leaves out keys such as "constructor" and "prototype", which
 * are good label keys; a selector without them would select other pods.)
 */
export const stringMap = v.custom<Readonly<Record<string, string>>>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((one) => typeof one === "string"),
  "a map of strings is needed",
);
