/** The selector of a Scale, which is a text in the syntax of `kubectl -l`. Pure. */
import { type LabelSelector, type LabelSelectorRequirement } from "../api/v1alpha1/pod-protector.ts";
import { parseLabelSelector } from "../config/types/label-selector.ts";

export type ReadSelector =
  | { readonly ok: true; readonly selector: LabelSelector }
  | { readonly ok: false; readonly reason: string };

/**
 * As people write selectors: single values are matchLabels. A text that selects everything is refused: it says that its
 * controller has not written one yet, and would protect all pods of the namespace by mistake.
 */
export function readScaleSelector(text: string): ReadSelector {
  if (text.trim() === "") return { ok: false, reason: "it is empty" };
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) return { ok: false, reason: `${JSON.stringify(text.slice(0, 200))} ${parsed.problem}` };
  const matchLabels: Record<string, string> = {};
  const matchExpressions: LabelSelectorRequirement[] = [];
  for (const requirement of parsed.value.matchExpressions ?? []) {
    const { key, operator, values = [] } = requirement;
    const [value, ...others] = values;
    const isEqual = operator === "In" && value !== undefined && others.length === 0 && !Object.hasOwn(matchLabels, key);
    if (isEqual) matchLabels[key] = value;
    else matchExpressions.push(requirement);
  }
  const selector = {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
  return { ok: true, selector };
}
