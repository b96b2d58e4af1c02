/**
 * What stands between a client and its API server, and does not always pass on what was said: a proxy that answers
 * itself, cuts, garbles or leaves out, and a policy that refuses for a while. Every answer here can be told from a
 * sound one; against false news in good order nobody can guard.
 */
import { type Rng } from "../../../src/util/rng.ts";
import { asObject, type JsonObject } from "../../double/engine/object.ts";
import {
  ApiError,
  badRequest,
  expiredList,
  internalError,
  tooLargeVersion,
  unauthorized,
} from "../../double/engine/status.ts";
import { corrupted, truncated } from "../../double/http/faulty-stream.ts";
import { errorResponse, type RestRequest, type RestResponse } from "../../double/rest/rest.ts";
import { Draws } from "../../support/draws.ts";

const page = "<html><body><h1>502 Bad Gateway</h1></body></html>";
const success = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Success" });
/** More than a line of a watch may have. */
const endlessLineBytes = 17 * 1024 * 1024;

/**
 * The request was carried out; this is what its caller reads instead of `sound`. In the namespace `unfenced` something
 * removes annotations on their way, so that fences are set but nothing shows it: its pods settle by the window.
 */
export function oddAnswer(rng: Rng, request: RestRequest, sound: string, unfenced: string): string {
  const draws = new Draws(rng);
  if (isFence(request) && request.path.includes(`/namespaces/${unfenced}/`) && draws.chance(0.5))
    return withMetadata(sound, { annotations: {} });
  return draws.oneOf(
    truncated(sound),
    corrupted(sound),
    "",
    "null",
    "[]",
    "{}",
    '"ok"',
    page,
    success,
    withMetadata(sound, { resourceVersion: undefined }),
    withMetadata(sound, { resourceVersion: "new" }),
    withMetadata(sound, { name: undefined, resourceVersion: undefined }),
    JSON.stringify({ metadata: isFence(request) ? {} : { resourceVersion: "1" }, items: "none" }),
  );
}

/** A line that no watch should have. */
export function oddLine(rng: Rng): string {
  const draws = new Draws(rng);
  if (draws.chance(0.05)) return "x".repeat(endlessLineBytes);
  const event = draws.oneOf<unknown>(
    null,
    "ADDED",
    { type: "STRANGE", object: { metadata: { resourceVersion: "1" } } },
    { type: "ADDED" },
    { type: "MODIFIED", object: { metadata: {} } },
    { type: "DELETED", object: null },
    { type: "BOOKMARK", object: { metadata: { resourceVersion: "soon" } } },
    { type: "ERROR", object: {} },
    { type: "ERROR", object: { kind: "Status" } },
    { type: "ERROR", object: drawRefusal(draws).status },
  );
  return `${JSON.stringify(event)}\n`;
}

/**
 * The request was not carried out. No policy refuses fences here: pods that cannot be fenced settle by the window,
 * which proves less (docs/accounting.md#fences).
 */
export function refusal(rng: Rng, request: RestRequest): RestResponse {
  const draws = new Draws(rng);
  if (draws.chance(0.1)) return { kind: "text", code: 502, text: page };
  const drawn = drawRefusal(draws);
  const isPolicy = [400, 403, 422].includes(drawn.code);
  return errorResponse(isPolicy && isFence(request) ? internalError("injected") : drawn);
}

function isFence({ method, path }: RestRequest): boolean {
  return method === "PATCH" && path.includes("/pods/");
}

/** Never 404: who is told that an object is gone believes it. */
function drawRefusal(draws: Draws): ApiError {
  return draws.oneOf<ApiError>(
    unauthorized(),
    new ApiError(403, "Forbidden", "this is not wanted now"),
    new ApiError(409, "AlreadyExists", "this exists already"),
    new ApiError(409, "Conflict", "a policy of the name of conflict"),
    new ApiError(422, "Invalid", "a policy does not like this"),
    new ApiError(429, "TooManyRequests", "too many requests"),
    new ApiError(503, "ServiceUnavailable", "starting"),
    badRequest("what is this?"),
    expiredList(),
    internalError("etcdserver: request timed out"),
    tooLargeVersion(2, 1),
  );
}

/** `text` is returned when it holds no object. Fields that are undefined are left out. */
function withMetadata(text: string, change: Readonly<Record<string, unknown>>): string {
  const object: JsonObject = asObject(JSON.parse(text));
  return JSON.stringify({ ...object, metadata: { ...asObject(object["metadata"]), ...change } });
}
