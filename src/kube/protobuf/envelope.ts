/**
 * What is around each object: "k8s\0" and a runtime.Unknown, which says what is inside
 * (k8s.io/apimachinery/pkg/runtime).
 */
import { KubeError } from "../kube-client.ts";
import { type MessageReader, readMessage } from "./message-reader.ts";
import { readPod, readPodList } from "./pod.ts";
import { readStatus } from "./status.ts";

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
