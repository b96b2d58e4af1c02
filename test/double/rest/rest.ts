/**
 * The REST face of an engine without sockets: method, path, query and decoded body in; a code and a body, or a watch,
 * out. The HTTP front and a simulated network both stand on it.
 */
import { type Caller } from "../engine/admission.ts";
import { type Engine } from "../engine/engine.ts";
import { nodeOfBinding } from "../engine/requests/eviction.ts";
import { type ListResult } from "../engine/requests/list.ts";
import { type JsonObject, type KubeObject, asObject, isObject, objectText } from "../engine/object.ts";
import { type ResourceType, apiVersionOf } from "../engine/resources.ts";
import {
  type ApiError,
  type Status,
  forbidden,
  isApiError,
  methodNotAllowed,
  noSuchResource,
  notImplemented,
} from "../engine/status.ts";
import { discover } from "./discovery.ts";
import { type RestRequest, type RestResponse } from "./messages.ts";
import { answerFormOf } from "./negotiation.ts";
import { deleteOptionsOf, flag, listQuery, requestOptions, watchQuery } from "./parameters.ts";
import { type Route, type Verb, parseRoute } from "./route.ts";
import { TableFormat } from "./table/table.ts";

export { type RestRequest, type RestResponse } from "./messages.ts";

/** Says whether a caller may do something; `subresource` is "" for the object itself. */
export type Authorizer = (
  user: Caller,
  verb: Verb,
  group: string,
  resource: string,
  subresource: string,
  namespace: string | undefined,
) => boolean;

/** One request on its way through the face. */
interface Call {
  readonly engine: Engine;
  readonly request: RestRequest;
  readonly route: Route;
  /** Undefined = plain JSON. */
  readonly table: TableFormat | undefined;
  readonly warn: (text: string) => void;
}

function json(code: number, text: string): RestResponse {
  return { kind: "json", code, text };
}

function isStored(body: JsonObject | Status): body is KubeObject {
  return isObject(body) && "metadata" in body && "uid" in asObject(body["metadata"]);
}

/** An object in the form that was asked for; anything else as JSON. */
function answer(table: TableFormat | undefined, code: number, body: JsonObject | Status): RestResponse {
  if (!isStored(body)) return json(code, JSON.stringify(body));
  if (table === undefined) return json(code, objectText(body));
  const { resourceVersion } = body.metadata;
  return json(code, JSON.stringify(table.table([body], { resourceVersion })));
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

function listText(table: TableFormat | undefined, type: ResourceType, list: ListResult): string {
  const metadata = {
    resourceVersion: list.resourceVersion,
    ...(list.continueToken === undefined ? {} : { continue: list.continueToken }),
    ...(list.remainingItemCount === undefined ? {} : { remainingItemCount: list.remainingItemCount }),
  };
  if (table !== undefined) return JSON.stringify(table.table(list.items, metadata));
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

function authorize(authorizer: Authorizer | undefined, request: RestRequest, route: Route): void {
  const { verb, type, namespace, name, subresource } = route;
  if (authorizer?.(request.caller, verb, type.group, type.resource, subresource ?? "", namespace) ?? true) return;
  const resource = subresource === undefined ? type.resource : `${type.resource}/${subresource}`;
  const where = namespace === undefined ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const why =
    `User "${request.caller.username}" cannot ${verb} resource "${resource}" ` +
    `in API group "${type.group}" ${where}`;
  throw forbidden(type, name ?? "", why);
}

async function onSubresource({ engine, request, route, table, warn }: Call, name: string): Promise<RestResponse> {
  const { verb, type, namespace, subresource } = route;
  const options = requestOptions(request, warn);
  const patch = { contentType: request.contentType, body: request.body };
  if (subresource === "status" && type.hasStatus) {
    const status = { ...options, subresource } as const;
    const written = (object: KubeObject): RestResponse => answer(table, 200, object);
    if (verb === "get") return written(engine.get(type, namespace, name));
    if (verb === "update") return written(await engine.update(type, namespace, name, request.body, status));
    if (verb === "patch") return written(await engine.patch(type, namespace, name, patch, status));
  } else if (subresource === "scale" && type.subresources.includes("scale")) {
    const scaled = (scale: JsonObject): RestResponse => json(200, JSON.stringify(scale));
    if (verb === "get") return scaled(engine.getScale(type, namespace, name));
    if (verb === "update") return scaled(await engine.updateScale(type, namespace, name, request.body, options));
    if (verb === "patch") return scaled(await engine.patchScale(type, namespace, name, patch, options));
  } else if (subresource === "eviction" && type.subresources.includes("eviction") && verb === "create") {
    return json(201, JSON.stringify(await engine.evict(namespace!, name, asObject(request.body), options)));
  } else if (subresource === "binding" && type.subresources.includes("binding") && verb === "create") {
    const nodeName = nodeOfBinding(name, asObject(request.body));
    return json(201, JSON.stringify(engine.bind(namespace!, name, nodeName, options)));
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

/** Of a pod: what people ask of a container that runs. */
const inContainer = new Set(["attach", "exec", "log", "portforward"]);

function refuseSubresource({ verb, type, subresource = "" }: Route): never {
  if (!type.custom && leftOut[type.resource]?.includes(subresource) === true) {
    const why = inContainer.has(subresource) ? ": its pods run no containers" : "";
    throw notImplemented(`${verb} of ${type.resource}/${subresource}${why}`);
  }
  const exists = type.subresources.includes(subresource) || (subresource === "status" && type.hasStatus);
  throw exists ? methodNotAllowed() : noSuchResource();
}

async function onObject({ engine, request, route, table, warn }: Call, name: string): Promise<RestResponse> {
  const { verb, type, namespace } = route;
  const options = requestOptions(request, warn);
  switch (verb) {
    case "get":
      return answer(table, 200, engine.get(type, namespace, name, request.query.get("resourceVersion") ?? ""));
    case "update":
      return answer(table, 200, await engine.update(type, namespace, name, request.body, options));
    case "patch": {
      const patch = { contentType: request.contentType, body: request.body };
      return answer(table, 200, await engine.patch(type, namespace, name, patch, options));
    }
    case "delete":
      return answer(table, 200, await engine.delete(type, namespace, name, deleteOptionsOf(request), options));
    default:
      throw notImplemented(`${verb} of one object`);
  }
}

async function onCollection({ engine, request, route, table, warn }: Call): Promise<RestResponse> {
  const { verb, type, namespace } = route;
  switch (verb) {
    case "list":
      return json(200, listText(table, type, engine.list(type, namespace, listQuery(request.query))));
    case "watch": {
      const query = watchQuery(request.query);
      return {
        kind: "watch",
        open: (sink, lagMs) => engine.watch(type, namespace, query, table?.sink(sink) ?? sink, lagMs),
      };
    }
    case "create":
      return answer(table, 201, await engine.create(type, namespace, request.body, requestOptions(request, warn)));
    case "deletecollection": {
      const { limit: _, ...query } = listQuery(request.query);
      const options = requestOptions(request, warn);
      const listed = await engine.deleteCollection(type, namespace, query, deleteOptionsOf(request), options);
      return json(200, listText(table, type, listed));
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

async function dispatch(
  authorizer: Authorizer | undefined,
  call: Omit<Call, "route" | "table">,
): Promise<RestResponse> {
  const { engine, request } = call;
  const document = request.method === "GET" ? discover(engine.registry, request.path) : undefined;
  const form = answerFormOf(request.accept);
  if (typeof document === "string") return { kind: "text", code: 200, text: document };
  if (document !== undefined) return json(200, JSON.stringify(document));
  const watch = flag(request.query, "watch") === true;
  if (!hasGroup(engine, request.path)) return { kind: "text", code: 404, text: "404 page not found\n" };
  const found = parseRoute(engine.registry, request.method, request.path, watch);
  authorize(authorizer, request, found);
  const nowMs = (): number => engine.clock.epochMicros() / 1000;
  const table = form === "table" ? new TableFormat(found.type, request.query, nowMs) : undefined;
  const routed: Call = { ...call, route: found, table };
  if (found.name === undefined) return await onCollection(routed);
  if (found.subresource !== undefined) return await onSubresource(routed, found.name);
  return await onObject(routed, found.name);
}

/** Answers one request. Never throws an ApiError: that becomes its response. */
export async function handleRest(
  engine: Engine,
  authorizer: Authorizer | undefined,
  request: RestRequest,
): Promise<RestResponse> {
  const warnings = new Set<string>();
  const respond = async (): Promise<RestResponse> => {
    try {
      return await dispatch(authorizer, { engine, request, warn: (text) => warnings.add(text) });
    } catch (error) {
      if (isApiError(error)) return errorResponse(error);
      throw error;
    }
  };
  const response = await respond();
  return response.kind === "json" && warnings.size > 0 ? { ...response, warnings: [...warnings] } : response;
}
