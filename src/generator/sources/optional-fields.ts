/**
 * Optional fields of a PodProtector's spec that overrides of its source set (docs/generator.md#overrides). People may
 * tune the same fields by hand. So the annotation "overridden" says which are there by an override: what goes from the
 * source goes from the PodProtector, and what people have set stays. Pure.
 */
import { annotations } from "../../api/v1alpha1/names.ts";
import { type PodProtector, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { type Overrides } from "../../sources/overrides.ts";

const historyFields = ["maxConcurrentLag", "compactThreshold", "aggregationRateMillis"] as const;
/** By what the annotation calls them. */
const fields = ["healthCriterion", ...historyFields] as const;

/** Absent = people may tune it. */
export type OptionalFields = { readonly [F in (typeof fields)[number]]?: string | number };

/** `isCriterionDropped`: the CRD does not know the field healthCriterion. */
export function optionalFieldsOf(
  { healthCriterion, historyConfig }: Overrides,
  isCriterionDropped: boolean,
): OptionalFields {
  return { ...historyConfig, ...(healthCriterion !== undefined && !isCriterionDropped && { healthCriterion }) };
}

/** The annotation "overridden" of an object that has these; undefined = it has none. */
export function overriddenText(wanted: OptionalFields): string | undefined {
  return fields.filter((field) => wanted[field] !== undefined).join(",") || undefined;
}

/** What differs, as a merge patch of the spec; empty = nothing. */
export function optionalPatch(actual: PodProtector, wanted: OptionalFields): Record<string, unknown> {
  const present = optionalIn(actual.spec);
  const former = formerlyOverridden(actual);
  const changed: Record<string, unknown> = {};
  for (const field of fields) {
    if (wanted[field] !== undefined && present[field] !== wanted[field]) changed[field] = wanted[field];
    if (wanted[field] === undefined && present[field] !== undefined && former.includes(field)) changed[field] = null;
  }
  return inSpec(changed);
}

/** For a new object: what is wanted, and what people had set on a `former` one. */
export function newOptional(former: PodProtector | undefined, wanted: OptionalFields): Partial<PodProtectorSpec> {
  const overridden: readonly string[] = former === undefined ? [] : formerlyOverridden(former);
  const tuned = Object.entries(former === undefined ? {} : optionalIn(former.spec)).filter(
    ([field, value]) => value !== undefined && !overridden.includes(field),
  );
  return inSpec({ ...Object.fromEntries(tuned), ...wanted });
}

function formerlyOverridden({ metadata }: PodProtector): readonly string[] {
  return metadata.annotations?.[annotations.overridden]?.split(",") ?? [];
}

function optionalIn({ healthCriterion, admissionHistoryConfig: history }: PodProtectorSpec): OptionalFields {
  const { maxConcurrentLag, compactThreshold, aggregationRateMillis } = history ?? {};
  return { healthCriterion, maxConcurrentLag, compactThreshold, aggregationRateMillis } as OptionalFields;
}

function inSpec({ healthCriterion, ...history }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return {
    ...(healthCriterion === undefined ? {} : { healthCriterion }),
    ...(Object.keys(history).length === 0 ? {} : { admissionHistoryConfig: history }),
  };
}
