/**
 * The REST face of an engine without sockets: method, path, query and decoded body in; a code and a body, or a watch, out. The HTTP
 * front and a simulated network both stand on it.
 */
import { type Caller } from "../engine/admission.ts";
import { type Engine, type RequestOptions } from "../engine/engine.ts";
import { nodeOfBinding } from "../engine/eviction.ts";
import { type ListQuery, type ListResult } from "../engine/list.ts";
import { type JsonObject, type KubeObject, asArray, asObject, isObject, objectText } from "../engine/object.ts";
import { type ResourceType, apiVersionOf } from "../engine/resources.ts";
import {
  type ApiError,
  type OptionsKind,
  type Status,
  badRequest,
  forbidden,
  isApiError,
  invalidOptions,
  methodNotAllowed,
  noSuchResource,
  notImplemented,
} from "../engine/status.ts";
import { type Watch, type WatchQuery, type WatchSink } from "../engine/watch.ts";
import { discover } from "./discovery.ts";
import { type Route, type Verb, parseRoute } from "./route.ts";

export interface RestRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Media type of the body without parameters. */
  readonly contentType: string;
  /** The decoded JSON body; undefined when there was none. */
  readonly body: unknown;
  readonly caller: Caller;
  /** First word of the user agent, for managedFields. */
  readonly userAgent: string;
}

export type RestResponse =
  | { readonly kind: "json"; readonly code: number; readonly text: string; readonly retryAfterSeconds?: number }
  | { readonly kind: "text"; readonly code: number; readonly text: string }
  /** Opens the watch when the response header has been sent. Throws ApiError when it cannot be opened. */
  | { readonly kind: "watch"; readonly open: (sink: WatchSink, lagMs: () => number) => Watch };

/** Says whether a caller may do something; `subresource` is "" for the object itself. */
export type Authorizer = (
  user: Caller,
  verb: Verb,
  group: string,
  resource: string,
  subresource: string,
  namespace: string | undefined,
) => boolean;

function json(code: number, text: string): RestResponse {
  return { kind: "json", code, text };
}

function answer(code: number, body: JsonObject | Status): RestResponse {
  return json(
    code,
    isObject(body) && "metadata" in body && "uid" in asObject(body["metadata"])
      ? objectText(body as KubeObject)
      : JSON.stringify(body),
  );
}

/** The response that tells of an error of the engine. */
export function errorResponse(error: ApiError): RestResponse {
  const retryAfterSeconds = error.status.details?.retryAfterSeconds;
  return {
    kind: "json",
    code: error.code,
    text: JSON.stringify(error.status),
    ...(retryAfterSeconds === undefined || retryAfterSeconds <= 0 ? {} : { retryAfterSeconds }),
  };
}

/** An item of a list: those of built-in types come without apiVersion and kind. */
function itemText(object: KubeObject, head: string): string {
  const text = objectText(object);
  return text.startsWith(head) ? `{${text.slice(head.length)}` : text;
}

function listText(type: ResourceType, list: ListResult): string {
  const metadata = {
    resourceVersion: list.resourceVersion,
    ...(list.continueToken === undefined ? {} : { continue: list.continueToken }),
    ...(list.remainingItemCount === undefined ? {} : { remainingItemCount: list.remainingItemCount }),
  };
  const kind = `${type.kind}List`;
  const apiVersion = apiVersionOf(type);
  if (type.custom) {
    // Here the server sorts the fields, and sends an empty continue token when there is no more.
    const items = list.items.map(objectText).join(",");
    const tail = JSON.stringify({ kind, metadata: { continue: "", ...metadata } }).slice(1);
    return `{"apiVersion":${JSON.stringify(apiVersion)},"items":[${items}],${tail}`;
  }
  const head = JSON.stringify({ kind, apiVersion, metadata });
  const typeText = `{"apiVersion":${JSON.stringify(apiVersionOf(type))},"kind":${JSON.stringify(type.kind)},`;
  const items = list.items.map((item) => itemText(item, typeText));
  return `${head.slice(0, -1)},"items":[${items.join(",")}]}`;
}

function flag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  return text === null ? undefined : text === "true" || text === "1" || text === "";
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

function listQuery(query: URLSearchParams): ListQuery {
  return {
    labelSelector: query.get("labelSelector") ?? undefined,
    fieldSelector: query.get("fieldSelector") ?? undefined,
    resourceVersion: query.get("resourceVersion") ?? undefined,
    resourceVersionMatch: query.get("resourceVersionMatch") ?? undefined,
    limit: count(query, "limit"),
    continueToken: query.get("continue") ?? undefined,
  };
}

function watchQuery(query: URLSearchParams): WatchQuery {
  return {
    ...listQuery(query),
    allowWatchBookmarks: flag(query, "allowWatchBookmarks"),
    sendInitialEvents: flag(query, "sendInitialEvents"),
    timeoutSeconds: count(query, "timeoutSeconds"),
  };
}

const optionsKinds: Readonly<Record<string, OptionsKind>> = {
  POST: "CreateOptions",
  PUT: "UpdateOptions",
  PATCH: "PatchOptions",
  DELETE: "DeleteOptions",
};

function checkDryRun(kind: OptionsKind, dryRun: readonly unknown[]): void {
  if (dryRun.every((value) => value === "All")) return;
  throw invalidOptions(kind, "dryRun", `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`);
}

function requestOptions(request: RestRequest): RequestOptions {
  const dryRun = request.query.getAll("dryRun");
  checkDryRun(optionsKinds[request.method] ?? "ListOptions", dryRun);
  const fieldManager = request.query.get("fieldManager") ?? (request.userAgent === "" ? "unknown" : request.userAgent);
  return { caller: request.caller, dryRun: dryRun.length > 0, fieldManager };
}

/** DeleteOptions from the body, completed by the query. */
function deleteOptionsOf(request: RestRequest): JsonObject {
  if (request.body !== undefined && !isObject(request.body)) throw badRequest("the DeleteOptions are no object");
  const { kind: _kind, apiVersion: _version, ...body } = asObject(request.body);
  const graceSeconds = count(request.query, "gracePeriodSeconds");
  const propagationPolicy = request.query.get("propagationPolicy");
  const orphanDependents = flag(request.query, "orphanDependents");
  const options: JsonObject = {
    ...body,
    ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
    ...(propagationPolicy === null ? {} : { propagationPolicy }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
  };
  checkDeleteOptions(options);
  return options;
}

const propagationPolicies = ["Foreground", "Background", "Orphan"];

function checkDeleteOptions({ propagationPolicy: policy, orphanDependents, dryRun }: JsonObject): void {
  checkDryRun("DeleteOptions", asArray(dryRun));
  if (policy === undefined || policy === null) return;
  const shown = JSON.stringify(policy);
  if (orphanDependents !== undefined) {
    const detail = `Invalid value: ${shown}: orphanDependents and deletionPropagation cannot be both set`;
    throw invalidOptions("DeleteOptions", "propagationPolicy", detail);
  }
  if (propagationPolicies.some((known) => known === policy)) return;
  const detail = `Unsupported value: ${shown}: supported values: "Foreground", "Background", "Orphan", "nil"`;
  throw invalidOptions("DeleteOptions", "propagationPolicy", detail);
}

function authorize(authorizer: Authorizer | undefined, request: RestRequest, route: Route): void {
  const { verb, type, namespace, name, subresource } = route;
  if (authorizer?.(request.caller, verb, type.group, type.resource, subresource ?? "", namespace) ?? true) return;
  const resource = subresource === undefined ? type.resource : `${type.resource}/${subresource}`;
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const why = `User "${request.caller.username}" cannot ${verb} resource "${resource}" in API group "${type.group}" ${where}`;
  throw forbidden(type, name ?? "", why);
}

async function onSubresource(engine: Engine, request: RestRequest, route: Route, name: string): Promise<RestResponse> {
  const { verb, type, namespace, subresource } = route;
  const options = requestOptions(request);
  const patch = { contentType: request.contentType, body: request.body };
  if (subresource === "status" && type.hasStatus) {
    const status = { ...options, subresource } as const;
    if (verb === "get") return answer(200, engine.get(type, namespace, name));
    if (verb === "update") return answer(200, await engine.update(type, namespace, name, request.body, status));
    if (verb === "patch") return answer(200, await engine.patch(type, namespace, name, patch, status));
  } else if (subresource === "scale" && type.subresources.includes("scale")) {
    if (verb === "get") return answer(200, engine.getScale(type, namespace, name));
    if (verb === "update") return answer(200, await engine.updateScale(type, namespace, name, request.body, options));
    if (verb === "patch") return answer(200, await engine.patchScale(type, namespace, name, patch, options));
  } else if (subresource === "eviction" && type.subresources.includes("eviction") && verb === "create") {
    return answer(201, await engine.evict(namespace!, name, asObject(request.body), options));
  } else if (subresource === "binding" && type.subresources.includes("binding") && verb === "create") {
    const nodeName = nodeOfBinding(name, asObject(request.body));
    return answer(201, engine.bind(namespace!, name, nodeName, options));
  }
  return refuseSubresource(route);
}

/** Subresources of the real server that the double leaves out. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  pods: ["attach", "ephemeralcontainers", "exec", "log", "portforward", "proxy", "resize"],
  nodes: ["proxy"],
  namespaces: ["finalize"],
  serviceaccounts: ["token"],
  services: ["proxy"],
};

function refuseSubresource({ verb, type, subresource = "" }: Route): never {
  if (!type.custom && leftOut[type.resource]?.includes(subresource) === true) {
    throw notImplemented(`${verb} of ${type.resource}/${subresource}`);
  }
  const exists = type.subresources.includes(subresource) || (subresource === "status" && type.hasStatus);
  throw exists ? methodNotAllowed() : noSuchResource();
}

async function onObject(engine: Engine, request: RestRequest, route: Route, name: string): Promise<RestResponse> {
  const { verb, type, namespace } = route;
  const options = requestOptions(request);
  switch (verb) {
    case "get":
      return json(200, objectText(engine.get(type, namespace, name, request.query.get("resourceVersion") ?? "")));
    case "update":
      return answer(200, await engine.update(type, namespace, name, request.body, options));
    case "patch": {
      const patch = { contentType: request.contentType, body: request.body };
      return answer(200, await engine.patch(type, namespace, name, patch, options));
    }
    case "delete":
      return answer(200, await engine.delete(type, namespace, name, deleteOptionsOf(request), options));
    default:
      throw notImplemented(`${verb} of one object`);
  }
}

async function onCollection(engine: Engine, request: RestRequest, route: Route): Promise<RestResponse> {
  const { verb, type, namespace } = route;
  switch (verb) {
    case "list":
      return json(200, listText(type, engine.list(type, namespace, listQuery(request.query))));
    case "watch": {
      const query = watchQuery(request.query);
      return { kind: "watch", open: (sink, lagMs) => engine.watch(type, namespace, query, sink, lagMs) };
    }
    case "create":
      return answer(201, await engine.create(type, namespace, request.body, requestOptions(request)));
    case "deletecollection": {
      const { limit: _, ...query } = listQuery(request.query);
      const options = requestOptions(request);
      const listed = await engine.deleteCollection(type, namespace, query, deleteOptionsOf(request), options);
      return json(200, listText(type, listed));
    }
    default:
      throw notImplemented(`${verb} of a collection`);
  }
}

/** False for paths of groups that nobody serves, such as that of a custom resource without its definition. */
function hasGroup(engine: Engine, path: string): boolean {
  const [, root, group] = path.split("/");
  return root === "api" || (root === "apis" && engine.registry.all().some((type) => type.group === group));
}

/** Answers one request. Never throws an ApiError: that becomes its response. */
export async function handleRest(
  engine: Engine,
  authorizer: Authorizer | undefined,
  request: RestRequest,
): Promise<RestResponse> {
  try {
    const document = request.method === "GET" ? discover(engine.registry, request.path) : undefined;
    if (typeof document === "string") return { kind: "text", code: 200, text: document };
    if (document !== undefined) return json(200, JSON.stringify(document));
    const watch = flag(request.query, "watch") === true;
    if (!hasGroup(engine, request.path)) return { kind: "text", code: 404, text: "404 page not found\n" };
    const route = parseRoute(engine.registry, request.method, request.path, watch);
    authorize(authorizer, request, route);
    if (route.name === undefined) return await onCollection(engine, request, route);
    if (route.subresource !== undefined) return await onSubresource(engine, request, route, route.name);
    return await onObject(engine, request, route, route.name);
  } catch (error) {
    if (isApiError(error)) return errorResponse(error);
    throw error;
  }
}
