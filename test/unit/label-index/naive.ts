/**
 * The slow and obvious implementation that the indexes are compared with: keeps everything as given and judges each
 * requirement of each selector one by one, sharing no code with src/label-index/.
 */
import { type Labels } from "../../../src/api/pod.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type LabelIndex } from "../../../src/label-index/label-index.ts";
import { type SelectorIndex } from "../../../src/label-index/selector-index.ts";

/** What Kubernetes documents for a LabelSelector, requirement by requirement. */
export function naiveMatches(selector: LabelSelector, labels: Labels): boolean {
  const present = new Map(Object.entries(labels));
  return (
    Object.entries(selector.matchLabels ?? {}).every(([key, value]) => present.get(key) === value) &&
    (selector.matchExpressions ?? []).every((requirement) => naiveHolds(requirement, present))
  );
}

function naiveHolds({ key, operator, values = [] }: LabelSelectorRequirement, present: Map<string, string>): boolean {
  const value = present.get(key);
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  const listed = value !== undefined && values.includes(value);
  return operator === "In" ? listed : !listed;
}

/** Whether Kubernetes accepts the selector. */
export function naiveIsValid(selector: LabelSelector): boolean {
  return (selector.matchExpressions ?? []).every(({ operator, values = [] }) => {
    if (operator === "In" || operator === "NotIn") return values.length > 0;
    return (operator === "Exists" || operator === "DoesNotExist") && values.length === 0;
  });
}

export function createNaiveSelectorIndex(): SelectorIndex {
  const selectors = new Map<string, LabelSelector>();
  return {
    track(name, selector) {
      if (!naiveIsValid(selector)) return { ok: false, reason: "invalid" };
      selectors.set(name, selector);
      return { ok: true };
    },
    untrack: (name) => selectors.delete(name),
    query: (labels, max) =>
      [...selectors]
        .filter(([, selector]) => naiveMatches(selector, labels))
        .map(([name]) => name)
        .slice(0, max),
    get size() {
      return selectors.size;
    },
  };
}

/** Queried with a selector as written, because compiling it is part of what is compared. */
export function createNaiveLabelSetIndex(): LabelIndex<Labels, LabelSelector, void> {
  const labelSets = new Map<string, Labels>();
  return {
    track(name, labels) {
      labelSets.set(name, labels);
    },
    untrack: (name) => labelSets.delete(name),
    query: (selector, max) =>
      [...labelSets]
        .filter(([, labels]) => naiveMatches(selector, labels))
        .map(([name]) => name)
        .slice(0, max),
    get size() {
      return labelSets.size;
    },
  };
}
