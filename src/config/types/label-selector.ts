/**
 * Label selectors in the syntax of `kubectl -l`: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Source: the documentation of
 * k8s.io/apimachinery/pkg/labels.Parse. The empty string selects everything. The numeric operators `>` and `<` have no
 * counterpart in a LabelSelector and are refused.
 */
import { type LabelSelector, type LabelSelectorRequirement } from "../../api/v1alpha1/pod-protector.ts";
import { labelKeyProblem, labelValueProblem } from "./kubernetes-names.ts";
import { accept, reject, type Parsed } from "./value-type.ts";

/** Far above any selector that a person writes; bounds the work on hostile input. */
const textLengthMax = 10_000;

/** One requirement each; `splitRequirements` splits at the commas between them. */
const setBased = /^([^\s=!,()<>]+)\s+(in|notin)\s*\(([^()]*)\)$/;
const equalityBased = /^([^\s=!,()<>]+)\s*(==|=|!=)\s*([^\s=!,()<>]*)$/;
const existence = /^(!?)\s*([^\s=!,()<>]+)$/;

export function parseLabelSelector(text: string): Parsed<LabelSelector> {
  if (text.length > textLengthMax) return reject(`is longer than ${textLengthMax} characters`);
  if (text.trim() === "") return accept({});
  const requirements: LabelSelectorRequirement[] = [];
  for (const part of splitRequirements(text)) {
    const requirement = parseRequirement(part.trim());
    if (typeof requirement === "string") return reject(requirement);
    requirements.push(requirement);
  }
  return accept({ matchExpressions: requirements });
}

/**
 * The string that `parseLabelSelector` reads back as an equal selector. It is also the API server's `labelSelector`
 * parameter.
 */
export function formatLabelSelector(selector: LabelSelector): string {
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  return [...labels, ...(selector.matchExpressions ?? []).map(formatRequirement)].join(",");
}

/** Splits at the commas outside parentheses. */
function splitRequirements(text: string): string[] {
  return text.split(/,(?![^()]*\))/);
}

function parseRequirement(text: string): LabelSelectorRequirement | string {
  const requirement = readRequirement(text);
  if (requirement === undefined) {
    return /[<>]/.test(text)
      ? "uses < or >, which is not supported"
      : `is not a label selector: invalid requirement ${JSON.stringify(text)}`;
  }
  const keyProblem = labelKeyProblem(requirement.key);
  if (keyProblem !== undefined) return `is not a label selector: ${JSON.stringify(requirement.key)} ${keyProblem}`;
  for (const value of requirement.values ?? []) {
    const problem = labelValueProblem(value);
    if (problem !== undefined) return `is not a label selector: ${JSON.stringify(value)} ${problem}`;
  }
  return requirement;
}

function readRequirement(text: string): LabelSelectorRequirement | undefined {
  const inSet = setBased.exec(text);
  if (inSet !== null) {
    const [, key = "", operator, list = ""] = inSet;
    // Repeated values add nothing, and some parsers refuse them.
    const values = [...new Set(list.split(",").map((value) => value.trim()))];
    return { key, operator: operator === "in" ? "In" : "NotIn", values };
  }
  const equality = equalityBased.exec(text);
  if (equality !== null) {
    const [, key = "", operator, value = ""] = equality;
    return { key, operator: operator === "!=" ? "NotIn" : "In", values: [value] };
  }
  const exists = existence.exec(text);
  if (exists === null) return undefined;
  return { key: exists[2] ?? "", operator: exists[1] === "!" ? "DoesNotExist" : "Exists" };
}

function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case "In":
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(",")})`;
    case "NotIn":
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}
