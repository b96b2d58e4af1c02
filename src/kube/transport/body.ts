/** Reads the body of a streaming request: chunk by chunk, or whole when it is a refusal. */
import { type Readable } from "node:stream";
import { KubeError } from "../kube-client.ts";
import { type Deadline } from "./deadline.ts";
import { networkError } from "../kube-errors.ts";

/** The whole body of a refusal. Throws KubeError: "malformed" beyond `bytesMax`, else what ended the reading. */
export async function readBytes(body: Readable, bytesMax: number, what: string, deadline: Deadline): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(body, what, deadline)) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new KubeError("malformed", `${what}: the answer is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The chunks of a stream as they come; each one is a sign of life. Drops the deadline's timer at the end. */
export async function* readStream(
  body: Readable,
  what: string,
  deadline: Deadline,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of readChunks(body, what, deadline)) {
      deadline.touch();
      yield chunk;
    }
  } finally {
    deadline.clear();
    body.destroy();
  }
}

async function* readChunks(
  body: Readable,
  what: string,
  deadline: Deadline,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of body) {
      yield chunk as Uint8Array;
    }
  } catch (error) {
    throw deadline.error() ?? networkError(what, error);
  }
  const ended = deadline.error();
  if (ended !== undefined) throw ended;
}
