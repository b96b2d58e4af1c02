/**
 * Reads the frames of a watch, lines of JSON or protobuf. A frame that is too long or is no watch event means that the
 * stream is corrupt.
 */
import { parseResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { type ByteStream, KubeError } from "../kube-client.ts";
import { decodeWatchEvent, initialEventsEndAnnotation, splitFrames } from "../protobuf/index.ts";
import { errorOfStatus } from "../kube-errors.ts";

export type WatchFrame =
  | { readonly type: "added" | "modified" | "deleted"; readonly version: ResourceVersion; readonly object: unknown }
  /** `initialEventsEnd`: everything that existed at `version` has been sent (WatchList). */
  | { readonly type: "bookmark"; readonly version: ResourceVersion; readonly initialEventsEnd: boolean };

/** etcd takes 1.5 MiB for an object in its stored form; written as JSON it may grow, but ten times that is garbage. */
const lineBytesMax = 16 * 1024 * 1024;

const newline = 0x0a;

/**
 * The frames of each chunk in turn. Throws KubeError: "malformed" for a corrupt stream, and what an ERROR event says.
 * `what` names the watch.
 */
export async function* readFrames(chunks: ByteStream, what: string): AsyncGenerator<WatchFrame, void, undefined> {
  if (chunks.encoding === "protobuf") {
    for await (const frame of splitFrames(chunks, what)) yield frameOf(decodeWatchEvent(frame, what), what);
    return;
  }
  for await (const line of splitLines(chunks, what)) {
    if (line.length > 0) yield frameOf(parseLine(line, what), what);
  }
}

/**
 * Complete lines without their breaks. An incomplete last line is dropped: the connection broke within it, and it will
 * be sent again.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  what: string,
  bytesMax = lineBytesMax,
): AsyncGenerator<string, void, undefined> {
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      partBytes = 0;
      start = end + 1;
    }
    if (start === chunk.byteLength) continue;
    parts.push(chunk.subarray(start));
    partBytes += chunk.byteLength - start;
    if (partBytes > bytesMax) throw new KubeError("malformed", `${what}: a line of more than ${bytesMax} bytes`);
  }
}

type RawEvent = { readonly type?: unknown; readonly object?: unknown } | null;

function parseLine(line: string, what: string): RawEvent {
  try {
    return JSON.parse(line) as RawEvent;
  } catch (error) {
    throw new KubeError("malformed", `${what}: a line is not JSON`, { cause: error });
  }
}

function frameOf(event: RawEvent, what: string): WatchFrame {
  const object = event?.object as RawObject | null | undefined;
  switch (event?.type) {
    case "ADDED":
      return { type: "added", version: versionOf(object, what), object };
    case "MODIFIED":
      return { type: "modified", version: versionOf(object, what), object };
    case "DELETED":
      return { type: "deleted", version: versionOf(object, what), object };
    case "BOOKMARK": {
      const initialEventsEnd = object?.metadata?.annotations?.[initialEventsEndAnnotation] === "true";
      return { type: "bookmark", version: versionOf(object, what), initialEventsEnd };
    }
    case "ERROR":
      throw errorOfStatus(what, object);
    default:
      throw new KubeError(
        "malformed",
        `${what}: an event of unknown type ${JSON.stringify(event?.type)?.slice(0, 50)}`,
      );
  }
}

/** What every Kubernetes object has, as far as it is read here. */
export interface RawObject {
  readonly metadata?: {
    readonly namespace?: unknown;
    readonly name?: unknown;
    readonly resourceVersion?: unknown;
    readonly annotations?: Readonly<Record<string, unknown>>;
  };
}

function versionOf(object: RawObject | null | undefined, what: string): ResourceVersion {
  const version = parseResourceVersion(object?.metadata?.resourceVersion);
  if (version === undefined) throw new KubeError("malformed", `${what}: an event without a resourceVersion`);
  return version;
}
