/**
 * What differs between a PodProtector and what its source wants, as a merge patch (docs/generator.md#drift), and who
 * has edited it, by `metadata.managedFields`. Pure.
 */
import { asObject, fieldsOf } from "../../api/json.ts";
import { areSame } from "../../accounting/count/foreign-owners.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { compileSelector, formatSelector } from "../../label-index/index.ts";
import { optionalPatch, type WantedProtector } from "../sources/source-plan.ts";
import { type FieldWriter, laterWriter, ownershipsOf } from "../../api/field-writers.ts";

/**
 * The merge patch that turns `actual` into what is wanted; undefined when nothing differs.
 * - Repaired: the derived fields of the spec and those that are overridden, labels, finalizer, owner reference,
 *   the annotations "generated", "keep", "overridden", "mode" and "released".
 * - Kept: admissionHistoryConfig and healthCriterion otherwise, aggregationSelector and whatever others added.
 * - `floorBefore`: an annotation that is written along with what differs, and by itself is no difference.
 * - A terminating object accepts no new finalizer, so a removed one is not restored there.
 */
export function driftPatch(
  actual: PodProtector,
  wanted: WantedProtector,
  floorBefore?: string,
): Record<string, unknown> | undefined {
  const metadata: Record<string, unknown> = {};
  const { labels = {}, finalizers = [], ownerReferences = [], deletionTimestamp } = actual.metadata;
  const lostLabels = Object.entries(wanted.labels).filter(([key, value]) => labels[key] !== value);
  if (lostLabels.length > 0) metadata["labels"] = Object.fromEntries(lostLabels);
  if (!finalizers.includes(wanted.finalizer) && deletionTimestamp === undefined)
    metadata["finalizers"] = [...finalizers, wanted.finalizer];
  const owner = wanted.ownerReference;
  if (!ownerReferences.some((reference) => reference.uid === owner.uid && reference.kind === owner.kind)) {
    // A reference to a former owner of the same name would let the garbage collector delete the protector.
    const others = ownerReferences.filter(
      (reference) => reference.kind !== owner.kind || reference.name !== owner.name,
    );
    // An API server accepts only one controlling owner; for the garbage collector any owner is enough.
    const { controller: _, ...plainOwner } = owner;
    const isControlled = others.some((reference) => reference.controller === true);
    metadata["ownerReferences"] = [...others, isControlled ? plainOwner : owner];
  }
  const { annotations: present = {} } = actual.metadata;
  const lostAnnotations = Object.entries(wanted.annotations).filter(([key, value]) => present[key] !== value);
  const outdated = [annotations.released, annotations.overridden, annotations.mode, annotations.keep]
    .filter((key) => present[key] !== undefined && wanted.annotations[key] === undefined)
    .map((key) => [key, null] as const);
  if (lostAnnotations.length > 0 || outdated.length > 0)
    metadata["annotations"] = Object.fromEntries([...lostAnnotations, ...outdated]);

  const spec = optionalPatch(actual, wanted.optional);
  if (actual.spec.minAvailable !== wanted.spec.minAvailable) spec["minAvailable"] = wanted.spec.minAvailable;
  if (actual.spec.minReadySeconds !== wanted.spec.minReadySeconds)
    spec["minReadySeconds"] = wanted.spec.minReadySeconds;
  if (!isSameSelector(actual.spec.selector, wanted.spec.selector)) {
    // A merge patch merges maps; null first clears what the old selector had.
    const clearedLabels = Object.fromEntries(
      Object.keys(actual.spec.selector.matchLabels ?? {}).map((key) => [key, null]),
    );
    spec["selector"] = {
      matchLabels: { ...clearedLabels, ...wanted.spec.selector.matchLabels },
      matchExpressions: wanted.spec.selector.matchExpressions ?? null,
    };
  }
  const { foreignOwners } = actual.spec;
  const { owners, isAtOnce } = wanted.foreign ?? { owners: foreignOwners, isAtOnce: false };
  if (foreignOwners === undefined ? isAtOnce : !areSame(foreignOwners, owners)) spec["foreignOwners"] = owners;
  const hasMetadata = Object.keys(metadata).length > 0;
  const hasSpec = Object.keys(spec).length > 0;
  if (!hasMetadata && !hasSpec) return undefined;
  if (floorBefore !== undefined)
    metadata["annotations"] = { ...asObject(metadata["annotations"]), [annotations.floorBefore]: floorBefore };
  return {
    // Lists are replaced as a whole, so the patch holds only for the version that it was made from.
    metadata: { ...metadata, resourceVersion: actual.metadata.resourceVersion },
    ...(hasSpec ? { spec } : {}),
  };
}

/** Which fields differ, for people, without the floor. */
export function driftFields(actual: PodProtector, wanted: WantedProtector): readonly string[] {
  const { metadata, spec } = driftPatch(actual, wanted) ?? {};
  const namesOf = (part: string, fields: unknown, left: string): readonly string[] =>
    Object.keys(fieldsOf(fields)).flatMap((name) => (name === left ? [] : [`${part}.${name}`]));
  return [...namesOf("metadata", metadata, "resourceVersion"), ...namesOf("spec", spec, "minAvailable")];
}

function isSameSelector(a: PodProtector["spec"]["selector"], b: PodProtector["spec"]["selector"]): boolean {
  const left = compileSelector(a);
  const right = compileSelector(b);
  return left.ok && right.ok && formatSelector(left.selector) === formatSelector(right.selector);
}

/** Roles and commands write under names that begin so, unless --core-kube-user-agent says otherwise. */
const ownPrefix = "podseidon";

/**
 * The field manager that wrote one of these fields of the spec last; undefined = the generator itself, or unknown.
 * Whoever made the object has set the annotation "generated", too, and is no editor: a generator under another name, or
 * a tool that brought the object back from a backup. Never throws.
 */
export function readEditor(managedFields: unknown, fields: readonly string[]): string | undefined {
  let last: FieldWriter | undefined;
  const own = new Set<string>();
  for (const { writer, spec, metadata } of ownershipsOf(managedFields)) {
    if (`f:${annotations.generated}` in fieldsOf(metadata["f:annotations"])) own.add(writer.manager);
    if (fields.some((field) => `f:${field}` in spec)) last = laterWriter(last, writer);
  }
  return last === undefined || last.manager.startsWith(ownPrefix) || own.has(last.manager) ? undefined : last.manager;
}
