/**
 * What is in force of an invalid PodProtector (docs/webhook.md#invalid-podprotectors): one with an unknown operator, a
 * field of the wrong type, a status beyond all bounds. It admits nothing, because it is not known what it leaves. What
 * it may protect:
 * - When it was valid before, what it protected then.
 * - Else every pod of its namespace that the valid part of its selector selects.
 */
import { fieldsOf } from "../../api/json.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../../api/v1alpha1/pod-protector.ts";
import { isInShadow } from "../../api/v1alpha1/names.ts";
import { compileSelector } from "../../label-index/index.ts";
import { type Marks, marksOf } from "./departure.ts";

/** As much as is needed of an invalid object. */
export interface Outline {
  /** Selects at least the pods that the object may mean to protect. */
  readonly selector: LabelSelector;
  readonly marks: Marks;
  /** It refuses nothing. */
  readonly isShadow: boolean;
}

/** Never throws, whatever `raw` is. */
export function outlineOf(raw: unknown): Outline {
  const object = fieldsOf(raw);
  return {
    selector: widestSelector(fieldsOf(object["spec"])["selector"]),
    marks: marksOf(raw),
    isShadow: isInShadow(object["metadata"]),
  };
}

/** All requirements of a selector must hold, so it selects no fewer pods without the invalid ones. */
function widestSelector(raw: unknown): LabelSelector {
  const { matchLabels, matchExpressions } = fieldsOf(raw);
  const labels = Object.entries(fieldsOf(matchLabels)).filter(([, value]) => typeof value === "string");
  const expressions = Array.isArray(matchExpressions) ? matchExpressions.filter(isRequirement) : [];
  return { matchLabels: Object.fromEntries(labels) as Record<string, string>, matchExpressions: expressions };
}

function isRequirement(raw: unknown): raw is LabelSelectorRequirement {
  const { key, operator, values } = fieldsOf(raw);
  if (typeof key !== "string" || typeof operator !== "string") return false;
  if (values !== undefined && !(Array.isArray(values) && values.every((value) => typeof value === "string")))
    return false;
  return compileSelector({ matchExpressions: [raw as LabelSelectorRequirement] }).ok;
}
