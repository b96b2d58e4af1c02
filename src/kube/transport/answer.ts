/** Reads the body of an answer, whole or chunk by chunk, and decodes it by its content type, whatever was asked for. */
import type { Readable } from "node:stream";
import { KubeError } from "../kube-client.ts";
import { decodeObject, isProtobuf } from "../protobuf/index.ts";
import { errorOfResponse, parseJson, networkError } from "../kube-errors.ts";
import { type Deadline } from "./deadline.ts";

export interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/**
 * What a 2xx answer holds, in the shape of its JSON, read by `parse`. Throws KubeError "malformed". `what` names the
 * request.
 */
export function decodeAnswer(what: string, { headers, body }: Answer, parse = parseWhole): unknown {
  if (isProtobuf(headers["content-type"])) return decodeObject(body, what);
  const value = parse(body);
  if (value === undefined) throw new KubeError("malformed", `${what}: the answer is not JSON`);
  return value;
}

function parseWhole(body: Buffer): unknown {
  return parseJson(body.toString("utf8"));
}

/** The error that an answer outside 2xx means. Its body may be anything: not every answer comes from the API server. */
export function errorOfAnswer(what: string, { code, headers, body }: Answer): KubeError {
  const retryAfter = headers["retry-after"];
  if (!isProtobuf(headers["content-type"])) return errorOfResponse(what, code, body.toString("utf8"), retryAfter);
  try {
    return errorOfResponse(what, code, "", retryAfter, decodeObject(body, what));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return errorOfResponse(what, code, error.message, retryAfter);
  }
}

/**
 * Reads the body of a streaming request: chunk by chunk, or whole when it is a refusal. The whole body of a refusal.
 * Throws KubeError: "malformed" beyond `bytesMax`, else what ended the reading.
 */
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
