/** What a Namespace of the core says about its workloads, by its labels (docs/generator.md#modes). */
import { type HealthCriterion, healthCriteria } from "../../accounting/count/health-criterion.ts";
import { type FieldWriter, readLabelWriter } from "../../api/field-writers.ts";
import { fieldsOf, type Json } from "../../api/json.ts";
import { objectKey } from "../../api/object-key.ts";
import { parseResourceVersion } from "../../api/resource-version.ts";
import { labels } from "../../api/v1alpha1/names.ts";
import { type NamespaceMode, namespaceModes } from "../../config/generator-rules.ts";
import { type Stored } from "../../kube/informer.ts";

/** A label: what it means, or that it cannot be read; undefined = it is absent. */
type Label<T> = { readonly value: T } | "unreadable" | undefined;

/** All that is kept of a Namespace. */
export interface LabelledNamespace extends Stored {
  readonly name: string;
  readonly mode: Label<NamespaceMode>;
  /** Of the label of the mode; undefined = unknown, or there is none. */
  readonly modeWriter: FieldWriter | undefined;
  readonly healthCriterion: Label<HealthCriterion>;
  /** What is ignored, and why, for people. */
  readonly problems: readonly string[];
}

/** Most namespaces have no problem, and share this. */
const none: readonly never[] = [];

/** Undefined for what is no Namespace. Never throws. */
export function decodeNamespace(raw: unknown): LabelledNamespace | undefined {
  const { name, uid, resourceVersion: version, labels: all, managedFields } = fieldsOf(fieldsOf(raw)["metadata"]);
  const resourceVersion = parseResourceVersion(version);
  if (typeof name !== "string" || typeof uid !== "string" || resourceVersion === undefined) return undefined;
  const own = fieldsOf(all);
  const mode = readLabel(own, labels.mode, namespaceModes);
  const healthCriterion = readLabel(own, labels.healthCriterion, healthCriteria);
  const ignored = [
    ...(mode === "unreadable" ? [problemOf(own, labels.mode, namespaceModes)] : none),
    ...(healthCriterion === "unreadable" ? [problemOf(own, labels.healthCriterion, healthCriteria)] : none),
  ];
  return {
    key: objectKey(undefined, name),
    uid,
    resourceVersion,
    name,
    mode,
    modeWriter: mode === undefined ? undefined : readLabelWriter(managedFields, labels.mode),
    healthCriterion,
    problems: ignored.length === 0 ? none : ignored,
  };
}

function readLabel<T extends string>(own: Json, label: string, allowed: readonly T[]): Label<T> {
  if (!Object.hasOwn(own, label)) return undefined;
  const value = allowed.find((one) => one === own[label]);
  return value === undefined ? "unreadable" : { value };
}

/** An API server accepts no label value above 63 characters. */
function problemOf(own: Json, label: string, allowed: readonly string[]): string {
  const value = JSON.stringify(String(own[label]).slice(0, 63));
  return `Ignoring the label ${label}=${value}: it must be one of ${allowed.join(", ")}`;
}
