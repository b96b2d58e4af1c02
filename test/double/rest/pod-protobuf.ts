/**
 * Answers about pods in protobuf, as a real API server gives them to whoever asks. Of a pod only metadata and status
 * are written, and of these what the product reads (src/kube/protobuf): a spec would be passed over.
 */
import { entry, envelope, field, frame, message, time, watchEvent } from "../../unit/kube/protobuf/writer.ts";
import { asArray, asObject, type JsonObject } from "../engine/object.ts";
import { type WatchEvent } from "../engine/requests/watch.ts";

/** A field that is not there. */
const nothing = Buffer.alloc(0);

/** The answer whose JSON this is; undefined for what is no Pod, PodList or Status. */
export function protobufAnswer(text: string): Buffer | undefined {
  let answer: JsonObject;
  try {
    answer = asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
  return encode(answer);
}

/** A frame of a watch of pods. */
export function protobufEvent({ type, object }: WatchEvent): Buffer {
  // The objects of the engine know their kind; the double writes it into each event.
  const kind = type === "ERROR" ? "Status" : "Pod";
  return frame(watchEvent(type, envelope(kind, kind === "Pod" ? pod(asObject(object)) : status(asObject(object)))));
}

function encode(answer: JsonObject): Buffer | undefined {
  switch (answer["kind"]) {
    case "Pod":
      return envelope("Pod", pod(answer));
    case "PodList":
      return envelope("PodList", podList(answer));
    case "Status":
      return envelope("Status", status(answer));
    default:
      return undefined;
  }
}

function podList(list: JsonObject): Buffer {
  const { resourceVersion, continue: token } = asObject(list["metadata"]);
  const metadata = message(text(2, resourceVersion), text(3, token));
  return message(field(1, metadata), ...asArray(list["items"]).map((item) => field(2, pod(asObject(item)))));
}

function pod({ metadata, status: podStatus }: JsonObject): Buffer {
  return message(
    field(1, objectMeta(asObject(metadata))),
    ...(podStatus === undefined ? [] : [field(3, statusOfPod(asObject(podStatus)))]),
  );
}

function objectMeta(metadata: JsonObject): Buffer {
  return message(
    text(1, metadata["name"]),
    text(3, metadata["namespace"]),
    text(5, metadata["uid"]),
    text(6, metadata["resourceVersion"]),
    moment(8, metadata["creationTimestamp"]),
    moment(9, metadata["deletionTimestamp"]),
    integer(10, metadata["deletionGracePeriodSeconds"]),
    ...map(11, metadata["labels"]),
    ...map(12, metadata["annotations"]),
    ...asArray(metadata["ownerReferences"]).map((item) => field(13, ownerReference(asObject(item)))),
    ...asArray(metadata["managedFields"]).map((item) => field(17, managedFields(asObject(item)))),
  );
}

function ownerReference({ apiVersion, kind, name, uid, controller }: JsonObject): Buffer {
  return message(
    text(1, kind),
    text(3, name),
    text(4, uid),
    text(5, apiVersion),
    field(6, controller === true ? 1 : 0),
  );
}

function managedFields(managed: JsonObject): Buffer {
  return message(text(1, managed["manager"]), text(2, managed["operation"]), moment(4, managed["time"]));
}

function statusOfPod({ phase, conditions }: JsonObject): Buffer {
  return message(text(1, phase), ...asArray(conditions).map((item) => field(2, condition(asObject(item)))));
}

function condition({ type, status: value, lastProbeTime, lastTransitionTime }: JsonObject): Buffer {
  return message(text(1, type), text(2, value), moment(3, lastProbeTime), moment(4, lastTransitionTime));
}

function status(object: JsonObject): Buffer {
  const { causes, retryAfterSeconds } = asObject(object["details"]);
  const details = message(
    ...asArray(causes).map((item) => field(4, cause(asObject(item)))),
    integer(5, retryAfterSeconds),
  );
  return message(
    text(2, object["status"]),
    text(3, object["message"]),
    text(4, object["reason"]),
    ...(object["details"] === undefined ? [] : [field(5, details)]),
    integer(6, object["code"]),
  );
}

function cause({ reason, message: why, field: path }: JsonObject): Buffer {
  return message(text(1, reason), text(2, why), text(3, path));
}

function text(number: number, value: unknown): Buffer {
  return typeof value === "string" ? field(number, value) : nothing;
}

function integer(number: number, value: unknown): Buffer {
  return typeof value === "number" ? field(number, value) : nothing;
}

function moment(number: number, value: unknown): Buffer {
  return typeof value === "string" ? field(number, time(value)) : nothing;
}

function map(number: number, value: unknown): Buffer[] {
  return Object.entries(asObject(value)).map(([key, one]) => field(number, entry(key, String(one))));
}
