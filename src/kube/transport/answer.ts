/** Decodes the body of an answer. Its content type decides, not what was asked for. */
import { KubeError } from "../kube-client.ts";
import { decodeObject, isProtobuf } from "../protobuf/index.ts";
import { errorOfResponse, parseJson } from "../kube-errors.ts";

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
