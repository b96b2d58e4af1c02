/** Faults of the API itself: answers that a server in trouble or a replica that lags behind gives. */
import { type Clock, sleep } from "../../../src/util/clock.ts";
import { type KubeObject, asArray, asObject } from "../engine/object.ts";
import { ApiError, expiredList, internalError, tooOldVersion } from "../engine/status.ts";
import { type RestRequest, type RestResponse, errorResponse } from "../rest/rest.ts";
import { type Fault, isWatch } from "./faults.ts";

export interface Server {
  readonly clock: Clock;
  /** The present revision. */
  readonly revision: number;
  /** Answers as it should. */
  handle(request: RestRequest): Promise<RestResponse>;
}

/** Answers `request` with `fault`; faults of the wire are for others, and such a request is handled as it should. */
export async function answerWith(
  fault: Fault | undefined,
  request: RestRequest,
  server: Server,
): Promise<RestResponse> {
  switch (fault?.type) {
    case "delay":
      await sleep(server.clock, fault.delayMs);
      break;
    case "tooManyRequests": {
      const { retryAfterSeconds } = fault;
      const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      return errorResponse(new ApiError(429, "TooManyRequests", "Too many requests, please try again later.", details));
    }
    case "serverError":
      return errorResponse(internalError("injected"));
    case "conflict":
      if (request.method === "GET") break;
      return errorResponse(new ApiError(409, "Conflict", "the object has been modified (injected)"));
    case "staleReplica":
      return await staleAnswer(request, Math.max(1, server.revision - fault.revisions), server);
    case "duplicate":
      return await server.handle(resumedEarlier(request, fault.revisions));
    case "historyLoss":
      return historyLoss(request, server) ?? (await server.handle(request));
    default:
  }
  return await server.handle(request);
}

/** The version that a watch goes on from; undefined for other requests, and for a watch of the present state. */
function resumeVersion({ query }: RestRequest): number | undefined {
  const version = Number(query.get("resourceVersion") ?? "0");
  return isWatch(query) && query.get("sendInitialEvents") !== "true" && version > 0 ? version : undefined;
}

function withQuery(request: RestRequest, change: Readonly<Record<string, string | undefined>>): RestRequest {
  const query = new URLSearchParams(request.query);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  return { ...request, query };
}

function resumedEarlier(request: RestRequest, revisions: number): RestRequest {
  const version = resumeVersion(request);
  if (version === undefined) return request;
  return withQuery(request, { resourceVersion: String(Math.max(1, version - revisions)) });
}

function historyLoss(request: RestRequest, { revision }: Server): RestResponse | undefined {
  const version = resumeVersion(request);
  if (version !== undefined) {
    return {
      kind: "watch",
      open(sink) {
        sink.onEvent({ type: "ERROR", object: tooOldVersion(version, revision).status });
        sink.onEnd();
        return { close: () => {} };
      },
    };
  }
  return request.query.has("continue") ? errorResponse(expiredList()) : undefined;
}

/**
 * A first page, a whole list or a WatchList without a version, as of `revision`; anything else is answered as it
 * should.
 */
async function staleAnswer(request: RestRequest, revision: number, server: Server): Promise<RestResponse> {
  const { method, query } = request;
  const version = query.get("resourceVersion") ?? "";
  if (method !== "GET" || version !== "" || query.has("continue")) return await server.handle(request);
  const stale = { resourceVersion: String(revision), resourceVersionMatch: "Exact" };
  if (!isWatch(query)) return await server.handle(withQuery(request, stale));
  if (query.get("sendInitialEvents") !== "true") return await server.handle(request);
  const notOfLists = { watch: undefined, sendInitialEvents: undefined, allowWatchBookmarks: undefined };
  const listed = await server.handle(withQuery(request, { ...stale, ...notOfLists }));
  const notOfResumes = { sendInitialEvents: undefined, resourceVersionMatch: undefined };
  const watch = await server.handle(withQuery(request, { ...notOfResumes, resourceVersion: String(revision) }));
  if (watch.kind !== "watch" || listed.kind !== "json" || listed.code !== 200) return listed;
  const list = asObject(JSON.parse(listed.text));
  const { apiVersion } = list;
  const kind = String(list["kind"]).replace(/List$/, "");
  const metadata = { resourceVersion: String(revision), annotations: { "k8s.io/initial-events-end": "true" } };
  return {
    kind: "watch",
    open(sink, lagMs) {
      for (const item of asArray(list["items"]).map(asObject)) {
        sink.onEvent({ type: "ADDED", object: { apiVersion, kind, ...item } as KubeObject });
      }
      sink.onEvent({ type: "BOOKMARK", object: { kind, apiVersion, metadata } });
      return watch.open(sink, lagMs);
    },
  };
}
