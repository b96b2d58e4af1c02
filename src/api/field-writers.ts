/**
 * Who wrote the fields of a workload that its floor depends on, by `metadata.managedFields`. An API server forgets the
 * owner of `spec.replicas` when the subresource scale sets it to 0, so "nobody" is a common answer.
 */
import { type EpochMicros } from "../util/clock.ts";
import { asList, fieldsOf } from "./json.ts";
import { parseTime } from "./micro-time.ts";
import { overrides } from "./v1alpha1/names.ts";

export interface FieldWriter {
  readonly manager: string;
  /** Such as "scale"; undefined = the object itself was written. */
  readonly subresource: string | undefined;
  /** Of the last write of this manager, of whatever field. */
  readonly time: EpochMicros | undefined;
  /** It scaled before: nothing tells who has scaled to 0 (`scalerOf`). */
  readonly isPresumed?: true;
}

/** The last writer of each; undefined = unknown. */
export interface FieldWriters {
  readonly replicas: FieldWriter | undefined;
  /** Of the field of the strategy that the reader names. */
  readonly strategy: FieldWriter | undefined;
  readonly labels: FieldWriter | undefined;
  /** Of the annotations that end or lower its protection (overrides.ts). One that was removed has no writer. */
  readonly overrides: FieldWriter | undefined;
}

const loweringFields = [overrides.minAvailable, overrides.maxUnavailable, overrides.protect].map((key) => `f:${key}`);

/** What one manager has written. Fields are named as in fieldsV1, `f:spec`. */
interface Ownership {
  readonly writer: FieldWriter;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Leaves out what is not understood. Never throws. */
export function* ownershipsOf(managedFields: unknown): Generator<Ownership, void> {
  for (const entry of asList(managedFields)) {
    const { manager, subresource, time, fieldsV1 } = fieldsOf(entry);
    if (typeof manager !== "string") continue;
    const { "f:spec": spec, "f:metadata": metadata } = fieldsOf(fieldsV1);
    const writer = {
      manager,
      subresource: typeof subresource === "string" && subresource !== "" ? subresource : undefined,
      time: parseTime(time),
    };
    yield { writer, spec: fieldsOf(spec), metadata: fieldsOf(metadata) };
  }
}

/** Never throws: what is not understood has no writer. */
export function readFieldWriters(managedFields: unknown, strategyField: string | undefined): FieldWriters {
  let replicas: FieldWriter | undefined;
  let strategy: FieldWriter | undefined;
  let labels: FieldWriter | undefined;
  let overriding: FieldWriter | undefined;
  for (const { writer, spec, metadata } of ownershipsOf(managedFields)) {
    if ("f:replicas" in spec) replicas = laterWriter(replicas, writer);
    if (strategyField !== undefined && `f:${strategyField}` in spec) strategy = laterWriter(strategy, writer);
    const { "f:labels": ofLabels, "f:annotations": ofAnnotations } = metadata;
    if (ofLabels !== undefined) labels = laterWriter(labels, writer);
    const owned = fieldsOf(ofAnnotations);
    if (loweringFields.some((field) => field in owned)) overriding = laterWriter(overriding, writer);
  }
  return { replicas, strategy, labels, overrides: overriding };
}

/**
 * Who has set so many replicas. An API server takes `f:replicas` from its owner when the subresource scale sets 0, and
 * keeps nobody's name for it; every other write has an owner. Then it is presumed to be whoever set the replicas
 * through the subresource `before`; undefined = unknown.
 */
export function scalerOf(
  writer: FieldWriter | undefined,
  replicas: number,
  before: FieldWriter | undefined,
): FieldWriter | undefined {
  if (writer !== undefined || replicas !== 0 || before?.subresource !== "scale") return writer;
  return { ...before, time: undefined, isPresumed: true };
}

/** The last writer of one label; undefined = unknown. Never throws. */
export function readLabelWriter(managedFields: unknown, label: string): FieldWriter | undefined {
  let last: FieldWriter | undefined;
  for (const { writer, metadata } of ownershipsOf(managedFields))
    if (`f:${label}` in fieldsOf(metadata["f:labels"])) last = laterWriter(last, writer);
  return last;
}

/** The one that wrote later. */
export function laterWriter(a: FieldWriter | undefined, b: FieldWriter | undefined): FieldWriter | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return (b.time ?? 0) >= (a.time ?? 0) ? b : a;
}
