/**
 * What a real API server answered in protobuf, beside its answer to the same request in JSON, and how to compare the
 * two.
 */
import assert from "node:assert/strict";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { decodeObject, decodeWatchEvent, isProtobuf, splitFrames } from "../../../../src/kube/protobuf/index.ts";

export interface Exchange {
  readonly name: string;
  readonly contentType: string;
  /** Base64. */
  readonly protobuf: string;
  /** `fieldsInUse` of the JSON; of a watch, a list of events. */
  readonly json: unknown;
}

type Json = Readonly<Record<string, unknown>>;

const wantedAnnotations = [annotations.updateTriggerTime, "k8s.io/initial-events-end"];

/**
 * Decodes the protobuf, and fails unless each field that is in use is what the JSON says. Resolves to how many objects
 * that were.
 */
export async function compareExchange({ name, contentType, protobuf, json }: Exchange): Promise<number> {
  assert.equal(isProtobuf(contentType), true, contentType);
  const bytes = Buffer.from(protobuf, "base64");
  if (!contentType.includes("stream=watch")) {
    const decoded = decodeObject(bytes, name);
    assert.deepEqual(fieldsInUse(decoded), json, name);
    return (decoded as { readonly items?: readonly unknown[] }).items?.length ?? 1;
  }
  const events: unknown[] = [];
  for await (const frame of splitFrames([bytes] as never, name)) events.push(decodeWatchEvent(frame, name));
  assert.deepEqual(events.map(eventFieldsInUse), json, name);
  return events.length;
}

/** What is read of a Pod, a PodList or a Status, written down anew; empty and absent are the same. */
export function fieldsInUse(object: unknown): unknown {
  const { kind, apiVersion, metadata, items, ...rest } = object as Json;
  const head = { kind, apiVersion };
  if (kind === "Status")
    return withoutEmpty({
      ...head,
      ...pick(rest, "status", "message", "reason", "code"),
      details: statusDetails(rest),
    });
  if (kind === "Pod") return withoutEmpty({ ...head, ...podFields(object) });
  assert.equal(kind, "PodList");
  return withoutEmpty({
    ...head,
    metadata: pick(metadata, "resourceVersion", "continue"),
    items: ((items ?? []) as unknown[]).map(podFields),
  });
}

/** The version of a bookmark is that of the moment, so it is only looked for. */
export function eventFieldsInUse(event: unknown): unknown {
  const { type, object } = event as { readonly type: string; readonly object: { readonly metadata: Json } };
  const fields = fieldsInUse(object) as { readonly metadata: Json };
  if (type !== "BOOKMARK") return { type, object: fields };
  assert.match(String(fields.metadata["resourceVersion"]), /^[1-9]\d*$/);
  return { type, object: { ...fields, metadata: { ...fields.metadata, resourceVersion: "of the moment" } } };
}

function podFields(pod: unknown): Json {
  const { metadata, status } = pod as { readonly metadata: Json; readonly status?: Json };
  return {
    metadata: {
      ...pick(metadata, "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels"),
      ...pick(metadata, "deletionTimestamp", "deletionGracePeriodSeconds"),
      annotations: pick(metadata["annotations"], ...wantedAnnotations),
      managedFields: list(metadata["managedFields"]).map((entry) => pick(entry, "time")),
    },
    status: {
      ...pick(status, "phase"),
      conditions: list(status?.["conditions"]).map((one) => pick(one, "type", "status", "lastTransitionTime")),
    },
  };
}

function statusDetails(status: Json): Json {
  const details = status["details"] as Json | undefined;
  return {
    ...pick(details, "retryAfterSeconds"),
    causes: list(details?.["causes"]).map((cause) => pick(cause, "reason", "message", "field")),
  };
}

const list = (value: unknown): readonly unknown[] => (value ?? []) as readonly unknown[];

function pick(object: unknown, ...names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([name]) => names.includes(name)));
}

/** JSON leaves empty fields away, protobuf writes most of them. A number is never left away. Times are texts. */
function withoutEmpty(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(item) ?? {});
  if (typeof value !== "object" || value === null) return value === "" || value === null ? undefined : value;
  const entries = Object.entries(value)
    .map(([name, field]) => [name, withoutEmpty(field)] as const)
    .filter(([, field]) => field !== undefined && !(Array.isArray(field) && field.length === 0));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
