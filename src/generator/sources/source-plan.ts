/** Which PodProtector a source wants, under which name, and how it leads back (docs/generator.md#names). Pure. */
import { hash } from "node:crypto";
import { type ObjectKey, objectKey, partsOf } from "../../api/object-key.ts";
import { annotations, apiVersion, finalizer, sourceLabels } from "../../api/v1alpha1/names.ts";
import { type OwnerReference, type PodProtector, type PodProtectorSpec } from "../../api/v1alpha1/pod-protector.ts";
import { neverReplicas } from "../../accounting/count/foreign-owners.ts";
import { type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { type NamespaceMode } from "../../config/generator-rules.ts";
import { type FloorRule } from "../../sources/floor.ts";
import { sourceKinds } from "../../sources/index.ts";
import { scaledPrefix } from "../../sources/scaled-kind.ts";
import { type SourceKind, type SourceRecord, type SourceRef } from "../../sources/source.ts";
import { type Overrides } from "../../sources/overrides.ts";

/** What the generator keeps in force. Fields of the spec that people may tune are not in it. */
export interface WantedProtector {
  /** Of the source. */
  readonly kind: SourceKind;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizer: string;
  readonly ownerReference: OwnerReference;
  readonly spec: Pick<PodProtectorSpec, "minAvailable" | "minReadySeconds" | "selector">;
  /** Of the spec as well; undefined = the CRD does not know the field. */
  readonly foreign: Foreign | undefined;
  /** Of the spec as well: what overrides of the source set. */
  readonly optional: OptionalFields;
}

/** Kinds of controllers whose pods are left out (docs/generator.md#foreign-owners). */
interface Foreign {
  readonly owners: readonly string[];
  /** Also where the PodProtector has no list: that is older than the rule, and a person is shown first what it does. */
  readonly isAtOnce: boolean;
}

/** Longest label value and longest object name that Kubernetes accepts. */
const labelValueLengthMax = 63;
const objectNameLengthMax = 253;
/** Hexadecimal digits of the hash: a million shortened names are all different with a probability above 0.998. */
const digestLength = 12;

/** What says that an object is this generator's. */
const marks = { [annotations.generated]: "true" } as const;

/** What the namespace of a source says. */
export interface OfNamespace {
  readonly mode: Exclude<NamespaceMode, "off">;
  /** For sources that name none themselves. */
  readonly healthCriterion: HealthCriterion | undefined;
}

/** What is known of the core beside the source. */
export interface PlanOptions {
  /** Fields of the spec that the CRD does not know; absent = none. */
  readonly dropped?: DroppedFields;
  /** The number that is kept; undefined = none. */
  readonly keeps?: number | undefined;
}

const unlabelled: OfNamespace = { mode: "enforced", healthCriterion: undefined };

export function planFor(
  source: SourceRecord,
  rule: FloorRule,
  { mode, healthCriterion }: OfNamespace = unlabelled,
  { dropped = noneDropped, keeps }: PlanOptions = {},
): WantedProtector {
  const { kind, namespace, name, uid, overrides, spec } = source;
  const criterion = overrides.healthCriterion ?? healthCriterion;
  const optional = optionalFieldsOf({ ...overrides, healthCriterion: criterion }, dropped);
  const overridden = overriddenText(optional);
  return {
    kind,
    name: protectorNameOf(kind, name),
    namespace,
    labels: sourceLabelsOf(kind, name),
    annotations: {
      ...marks,
      ...(overridden !== undefined && { [annotations.overridden]: overridden }),
      ...(mode === "shadow" && { [annotations.mode]: mode }),
      ...(keeps !== undefined && { [annotations.keep]: String(keeps) }),
    },
    finalizer,
    ownerReference: { apiVersion: kind.apiVersion, kind: kind.kind, name, uid, controller: true },
    spec: {
      minAvailable: spec.floorBy(rule).minAvailable,
      minReadySeconds: Math.max(0, spec.minReadySeconds),
      selector: spec.selector,
    },
    foreign: dropped.has("foreignOwners") ? undefined : foreignTo(kind, overrides),
    optional,
  };
}

function foreignTo({ hasAnyOwner }: SourceKind, { foreignOwners }: Overrides): Foreign {
  const owners = [...new Set([...(hasAnyOwner === true ? [] : neverReplicas), ...(foreignOwners ?? [])])].sort();
  // What its owner says needs nobody else, and an empty list changes nothing.
  return { owners, isAtOnce: foreignOwners !== undefined || owners.length === 0 };
}

/** The name of the PodProtector that a source gets. */
export function protectorNameOf(kind: Pick<SourceKind, "prefix">, sourceName: string): string {
  return shortened(`${kind.prefix}${sourceName}`, objectNameLengthMax);
}

/** The key of the PodProtector that a source gets: unique in a core. */
export function protectorKeyOf({ kind, namespace, name }: SourceRef): ObjectKey {
  return objectKey(namespace, protectorNameOf(kind, name));
}

/** The kind, of these, whose sources have PodProtectors with such a name, generated or not; undefined = none. */
export function kindOf(protector: ObjectKey, kinds: readonly SourceKind[] = sourceKinds): SourceKind | undefined {
  const { name } = partsOf(protector);
  return kinds.find(({ prefix }) => name.startsWith(prefix));
}

/** A source as a field of a log line: `deployment: "shop/web"`. Others use the names of custom kinds too. */
export function inLogs({ kind, namespace, name }: SourceRef): Readonly<Record<string, ObjectKey>> {
  const { group } = kind.resource;
  const field = `${kind.kind.charAt(0).toLowerCase()}${kind.kind.slice(1)}`;
  return { [group.includes(".") ? `${field}.${group}` : field]: objectKey(namespace, name) };
}

/** The labels that lead from a generated PodProtector to its source. */
export function sourceLabelsOf(kind: SourceKind, sourceName: string): Readonly<Record<string, string>> {
  return {
    [sourceLabels.name]: shortened(sourceName, labelValueLengthMax),
    [sourceLabels.group]: kind.resource.group,
    [sourceLabels.kind]: kind.kind,
    [sourceLabels.resource]: kind.resource.resource,
  };
}

/**
 * Whether the PodProtector was generated for that source: it has the derived name, and the source labels or, if these
 * were removed, the finalizer. The name is what tells: people may copy labels to an object of their own.
 */
export function isGeneratedFor({ metadata }: PodProtector, source: Pick<SourceRef, "kind" | "name">): boolean {
  const { name, labels = {}, finalizers = [] } = metadata;
  if (name !== protectorNameOf(source.kind, source.name)) return false;
  if (finalizers.includes(finalizer)) return true;
  return Object.entries(sourceLabelsOf(source.kind, source.name)).every(([key, value]) => labels[key] === value);
}

/**
 * The source that a PodProtector was generated for, of one of these kinds; undefined for a hand-made one. The owner
 * reference has the whole name, where the label and the object's own name may have been shortened.
 */
export function sourceOf(protector: PodProtector, kinds: readonly SourceKind[] = sourceKinds): SourceRef | undefined {
  const { name, namespace, labels = {}, ownerReferences = [] } = protector.metadata;
  const kind = kindOf(objectKey(namespace, name), kinds);
  if (kind === undefined) return undefined;
  const owner = ownerReferences.find(
    (one) => one.kind === kind.kind && groupOf(one.apiVersion) === kind.resource.group,
  );
  // A long name may have been shortened, and what was cut off is lost.
  const isWhole = name.length < objectNameLengthMax - digestLength;
  const derived = isWhole ? name.slice(kind.prefix.length) : undefined;
  const found = [owner?.name, labels[sourceLabels.name], derived].find(
    (candidate) => candidate !== undefined && isGeneratedFor(protector, { kind, name: candidate }),
  );
  return found === undefined ? undefined : { kind, namespace, name: found };
}

/** Whether a generator made it for a custom resource, whichever that is. */
export function isOfScaledKind({ metadata: { name, annotations: set = {} } }: PodProtector): boolean {
  return name.startsWith(scaledPrefix) && set[annotations.generated] === "true";
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

/** The text if it fits, else a stable and unique shortening: its beginning and a hash of the whole. */
function shortened(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const digest = hash("sha256", text, "hex").slice(0, digestLength);
  const head = text.slice(0, lengthMax - digestLength - 1).replace(/[-._]+$/, "");
  return `${head}-${digest}`;
}

/** apiVersion and kind of a new object. */
export const protectorTypeMeta = { apiVersion, kind: "PodProtector" } as const;

const historyFields = ["maxConcurrentLag", "compactThreshold", "aggregationRateMillis"] as const;
const ownFields = ["healthCriterion", "maxPodsPerCell"] as const;
/** Extensions of the spec itself, which the CRD of an earlier release or of the Go original drops. */
const droppableFields = [...ownFields, "foreignOwners"] as const;
export type DroppableField = (typeof droppableFields)[number];
export type DroppedFields = ReadonlySet<DroppableField>;
const noneDropped: DroppedFields = new Set();
/** By what the annotation calls them. */
const fields = [...ownFields, ...historyFields] as const;

/** Absent = people may tune it. */
export type OptionalFields = { readonly [F in (typeof fields)[number]]?: string | number };

/** Without those that the CRD does not know. */
export function optionalFieldsOf(overrides: Overrides, dropped: DroppedFields): OptionalFields {
  const known = ownFields.filter((field) => overrides[field] !== undefined && !dropped.has(field));
  return { ...overrides.historyConfig, ...Object.fromEntries(known.map((field) => [field, overrides[field]])) };
}

/** After a write of what was wanted: notes which of its fields the CRD has kept, and which not. */
export function noteDropped(
  dropped: Set<DroppableField>,
  { optional, foreign }: WantedProtector,
  spec: PodProtectorSpec,
): void {
  const written = { ...optional, foreignOwners: foreign?.isAtOnce === true ? foreign.owners : undefined };
  for (const field of droppableFields) {
    if (written[field] === undefined) continue;
    if (spec[field] === undefined) dropped.add(field);
    else dropped.delete(field);
  }
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

/** Of a new object: what is wanted, and what people had set on a `former` one. One that is made again is as old. */
export function newSpec(former: PodProtector | undefined, wanted: WantedProtector): PodProtectorSpec {
  const { spec, foreign, optional } = wanted;
  const { healthCriterion: _, maxPodsPerCell: __, admissionHistoryConfig: ___, ...others } = former?.spec ?? {};
  const isListed = former?.spec.foreignOwners !== undefined || former === undefined || foreign?.isAtOnce === true;
  const list = isListed && foreign !== undefined ? { foreignOwners: foreign.owners } : {};
  return { ...others, ...spec, ...newOptional(former, optional), ...list };
}

function newOptional(former: PodProtector | undefined, wanted: OptionalFields): Partial<PodProtectorSpec> {
  const overridden: readonly string[] = former === undefined ? [] : formerlyOverridden(former);
  const tuned = Object.entries(former === undefined ? {} : optionalIn(former.spec)).filter(
    ([field, value]) => value !== undefined && !overridden.includes(field),
  );
  return inSpec({ ...Object.fromEntries(tuned), ...wanted });
}

function formerlyOverridden({ metadata }: PodProtector): readonly string[] {
  return metadata.annotations?.[annotations.overridden]?.split(",") ?? [];
}

function optionalIn(spec: PodProtectorSpec): OptionalFields {
  const { healthCriterion, maxPodsPerCell, admissionHistoryConfig: history } = spec;
  const { maxConcurrentLag, compactThreshold, aggregationRateMillis } = history ?? {};
  return {
    healthCriterion,
    maxPodsPerCell,
    maxConcurrentLag,
    compactThreshold,
    aggregationRateMillis,
  } as OptionalFields;
}

function inSpec(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isOwn = ([field]: [string, unknown]): boolean => ownFields.some((known) => known === field);
  const history = Object.fromEntries(Object.entries(values).filter((entry) => !isOwn(entry)));
  return {
    ...Object.fromEntries(Object.entries(values).filter(isOwn)),
    ...(Object.keys(history).length === 0 ? {} : { admissionHistoryConfig: history }),
  };
}
