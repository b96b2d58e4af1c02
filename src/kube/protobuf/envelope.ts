/**
 * What is around each object: "k8s\0" and a runtime.Unknown, which says what is inside
 * (k8s.io/apimachinery/pkg/runtime).
 */
import { type V1Status, type V1StatusCause, type V1StatusDetails } from "../../api/models.ts";
import { KubeError } from "../kube-client.ts";
import { type MessageReader, readMessage } from "./message-reader.ts";
import { readPod, readPodList } from "./pod.ts";

export const mediaType = "application/vnd.kubernetes.protobuf";

const magic = Buffer.from("k8s\0");

/** Tells by the Content-Type of an answer whether its body is protobuf; a watch has the parameter stream=watch. */
export function isProtobuf(contentType: unknown): boolean {
  return typeof contentType === "string" && contentType.split(";", 1)[0]?.trim().toLowerCase() === mediaType;
}

/**
 * Decodes a v1 Pod, PodList or Status into the shape of its JSON, with the fields that are used here. Throws KubeError
 * "malformed" for corrupt bytes and for any other kind. `what` names the input in errors.
 */
export function decodeObject(bytes: Buffer, what: string): unknown {
  if (!bytes.subarray(0, magic.length).equals(magic)) {
    throw new KubeError("malformed", `${what}: protobuf without its first bytes "k8s\\0"`);
  }
  const { type, raw } = readMessage(bytes.subarray(magic.length), what, readUnknown);
  return { ...type, ...readMessage(raw, `${what}, ${type.kind.slice(0, 100)}`, (reader) => readBody(type, reader)) };
}

interface TypeMeta {
  apiVersion: string;
  kind: string;
}

function readUnknown(reader: MessageReader): { readonly type: TypeMeta; readonly raw: Buffer } {
  let type: TypeMeta = { apiVersion: "", kind: "" };
  let raw: Buffer | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = readTypeMeta(reader);
    else if (reader.field === 2) raw = reader.bytes();
    // Encoded contents (field 3) were meant for the future and never came.
    else if (reader.field === 3 && reader.text() !== "") throw reader.malformed("an encoded object");
    else if (reader.field !== 3) reader.skip();
  }
  if (raw === undefined) throw reader.malformed("an envelope without an object");
  return { type, raw };
}

function readTypeMeta(reader: MessageReader): TypeMeta {
  const type: TypeMeta = { apiVersion: "", kind: "" };
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) type.apiVersion = reader.text();
    else if (reader.field === 2) type.kind = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  return type;
}

function readBody({ apiVersion, kind }: TypeMeta, reader: MessageReader): object {
  switch (apiVersion === "v1" ? kind : "") {
    case "Pod":
      return readPod(reader);
    case "PodList":
      return readPodList(reader);
    case "Status":
      return readStatus(reader);
    default:
      throw reader.malformed(`the kind ${JSON.stringify(`${apiVersion} ${kind}`.slice(0, 100))} is not known here`);
  }
}

/** A whole input that is a Status (k8s.io/apimachinery/pkg/apis/meta/v1), as far as KubeStatus has it. */
export function readStatus(reader: MessageReader): V1Status {
  const status: V1Status = {};
  while (reader.next()) {
    if (reader.field === 2) status.status = reader.text();
    else if (reader.field === 3) status.message = reader.text();
    else if (reader.field === 4) status.reason = reader.text();
    else if (reader.field === 5) status.details = readDetails(reader);
    else if (reader.field === 6) status.code = reader.integer();
    else reader.skip();
  }
  return status;
}

function readDetails(reader: MessageReader): V1StatusDetails {
  const details: V1StatusDetails = {};
  let retryAfterSeconds = 0;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 4) (details.causes ??= []).push(readCause(reader));
    else if (reader.field === 5) retryAfterSeconds = reader.integer();
    else reader.skip();
  }
  reader.leave(outer);
  // JSON leaves 0 away, which says nothing; here it is always written, and must not be read as "at once".
  if (retryAfterSeconds !== 0) details.retryAfterSeconds = retryAfterSeconds;
  return details;
}

function readCause(reader: MessageReader): V1StatusCause {
  const cause: V1StatusCause = {};
  const outer = reader.enter();
  while (reader.next()) {
    // Called "type" in the protobuf, and "reason" in JSON.
    if (reader.field === 1) cause.reason = reader.text();
    else if (reader.field === 2) cause.message = reader.text();
    else if (reader.field === 3) cause.field = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  return cause;
}

/**
 * A watch in protobuf: frames of a 4-byte big-endian length and a meta/v1 WatchEvent, whose object has an envelope of
 * its own. As for lines of JSON: ten times what etcd takes for an object.
 */
const frameBytesMax = 16 * 1024 * 1024;
const lengthBytes = 4;

/**
 * The frames without their lengths, wherever the chunks are cut. Throws KubeError "malformed" for a frame of more than
 * `bytesMax` before any of it is kept. An incomplete last frame is dropped: the connection broke within it, and it will
 * be sent again.
 */
export async function* splitFrames(
  chunks: AsyncIterable<Uint8Array>,
  what: string,
  bytesMax = frameBytesMax,
): AsyncGenerator<Buffer, void, undefined> {
  let parts: Buffer[] = [];
  let missingBytes = lengthBytes;
  let isLength = true;
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (rest.length >= missingBytes) {
      const last = rest.subarray(0, missingBytes);
      rest = rest.subarray(missingBytes);
      const whole = parts.length === 0 ? last : Buffer.concat([...parts, last]);
      parts = [];
      if (!isLength) yield whole;
      missingBytes = isLength ? whole.readUInt32BE(0) : lengthBytes;
      isLength = !isLength;
      if (missingBytes > bytesMax) throw new KubeError("malformed", `${what}: a frame of more than ${bytesMax} bytes`);
    }
    if (rest.length === 0) continue;
    parts.push(rest);
    missingBytes -= rest.length;
  }
}

/** Decodes a frame into the shape of its JSON. Throws KubeError "malformed". */
export function decodeWatchEvent(frame: Buffer, what: string): { readonly type: string; readonly object: unknown } {
  return readMessage(frame, what, (reader) => {
    let type = "";
    let object: unknown;
    while (reader.next()) {
      if (reader.field === 1) type = reader.text();
      else if (reader.field === 2) object = decodeObject(readRawExtension(reader), what);
      else reader.skip();
    }
    return { type, object };
  });
}

function readRawExtension(reader: MessageReader): Buffer {
  let raw: Buffer | undefined;
  const outer = reader.enter();
  while (reader.next()) {
    if (reader.field === 1) raw = reader.bytes();
    else reader.skip();
  }
  reader.leave(outer);
  return raw ?? Buffer.alloc(0);
}
