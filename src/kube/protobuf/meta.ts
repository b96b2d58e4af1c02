/** ObjectMeta, ListMeta and Time of k8s.io/apimachinery/pkg/apis/meta/v1. */
import { type Decoded, type V1ObjectMeta, type V1OwnerReference } from "../../api/models.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { type MessageReader } from "./message-reader.ts";

export const initialEventsEndAnnotation = "k8s.io/initial-events-end";
/** Others may hold kilobytes, and are never read here. */
const wantedAnnotations: ReadonlySet<string> = new Set([initialEventsEndAnnotation, annotations.updateTriggerTime]);

/** Its model has another name for `continue`. */
interface ListMeta {
  resourceVersion?: string;
  continue?: string;
}

/** The field that `reader` is at, an ObjectMeta. */
export function readObjectMeta(reader: MessageReader): Decoded<V1ObjectMeta> {
  const meta: Decoded<V1ObjectMeta> = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) meta.name = reader.text();
    else if (reader.field === 3) meta.namespace = reader.text();
    else if (reader.field === 5) meta.uid = reader.text();
    else if (reader.field === 6) meta.resourceVersion = reader.text();
    else if (reader.field === 8) meta.creationTimestamp = readTime(reader);
    else if (reader.field === 9) meta.deletionTimestamp = readTime(reader);
    else if (reader.field === 10) meta.deletionGracePeriodSeconds = reader.integer();
    else if (reader.field === 11) readMapEntry(reader, (meta.labels ??= {}));
    else if (reader.field === 12) readMapEntry(reader, (meta.annotations ??= {}), wantedAnnotations);
    else if (reader.field === 13) {
      // Only the one that is the controller.
      const owner = readOwnerReference(reader);
      if (owner.controller === true) meta.ownerReferences = [owner];
    } else if (reader.field === 17) (meta.managedFields ??= []).push(readManagedFieldsEntry(reader));
    else reader.skip();
  }
  reader.leave(outer);
  return meta;
}

export function readListMeta(reader: MessageReader): ListMeta {
  const meta: ListMeta = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 2) meta.resourceVersion = reader.text();
    else if (reader.field === 3) meta.continue = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  return meta;
}

function readOwnerReference(reader: MessageReader): Decoded<V1OwnerReference> {
  const owner: Decoded<V1OwnerReference> = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) owner.kind = reader.text();
    else if (reader.field === 5) owner.apiVersion = reader.text();
    else if (reader.field === 6) owner.controller = reader.integer() !== 0;
    else reader.skip();
  }
  reader.leave(outer);
  return owner;
}

function readManagedFieldsEntry(reader: MessageReader): { time?: Date | undefined } {
  const entry: { time?: Date | undefined } = {};
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 4) entry.time = readTime(reader);
    else reader.skip();
  }
  reader.leave(outer);
  return entry;
}

/** Adds one entry of a map of texts; only a `wanted` key. */
function readMapEntry(reader: MessageReader, map: Record<string, string>, wanted?: ReadonlySet<string>): void {
  let key = "";
  let value = "";
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2 && (wanted === undefined || wanted.has(key))) value = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  if (wanted === undefined || wanted.has(key)) map[key] = value;
}

/**
 * The field that `reader` is at, a Time; undefined for the zero time, which is an empty message. Out of a Date's range
 * it is an invalid Date.
 */
export function readTime(reader: MessageReader): Date | undefined {
  let seconds: number | undefined;
  const outer = reader.enter();
  while (reader.next()) {
    // Seconds only, as in JSON: Kubernetes writes no nanoseconds into a Time.
    if (reader.field === 1) seconds = reader.integer();
    else reader.skip();
  }
  reader.leave(outer);
  return seconds === undefined ? undefined : new Date(seconds * 1000);
}
