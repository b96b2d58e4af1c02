/**
 * A watch in protobuf: frames of a 4-byte big-endian length and a meta/v1 WatchEvent, whose object has an envelope of
 * its own.
 */
import { KubeError } from "../kube-client.ts";
import { decodeObject } from "./envelope.ts";
import { type MessageReader, readMessage } from "./message-reader.ts";

/** As for lines of JSON: ten times what etcd takes for an object. */
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
