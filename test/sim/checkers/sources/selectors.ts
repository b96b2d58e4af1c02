/**
 * Selectors in a form that is the same for all in the same words, and whom they select. Shares nothing with the
 * product.
 */
import { asArray, asObject, asString, type JsonObject } from "../../../double/engine/object.ts";

/** Labels are requirements for one value; order and repetition mean nothing. */
export function selectorText(selector: JsonObject): string {
  const labels = Object.entries(asObject(selector["matchLabels"])).map(([key, value]) => [key, "In", [value]]);
  const expressions = asArray(selector["matchExpressions"]).map((item) => {
    const { key, operator, values } = asObject(item);
    return [key, operator, [...new Set(asArray(values).map(String))].sort()];
  });
  const texts = [...labels, ...expressions].map((requirement) => JSON.stringify(requirement));
  return [...new Set(texts)].sort().join(" ");
}

/** Of the words that worlds use: labels, and `In`. */
export function isSelected(labels: JsonObject, selector: JsonObject): boolean {
  const equal = Object.entries(asObject(selector["matchLabels"])).every(([key, value]) => labels[key] === value);
  const isIn = asArray(selector["matchExpressions"]).every((item) => {
    const { key, values } = asObject(item);
    return asArray(values).includes(labels[String(key)]);
  });
  return equal && isIn;
}

/** The labels of `app=web,tier=front`, as controllers write selectors into a status. Undefined = there are none. */
export function labelsOfText(text: unknown): Readonly<Record<string, string>> | undefined {
  const terms = (asString(text) ?? "").split(",").filter((term) => term.includes("="));
  const labels = Object.fromEntries(terms.map((term) => term.split("=", 2) as [string, string]));
  return terms.length === 0 ? undefined : labels;
}
