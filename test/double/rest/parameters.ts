/** The parameters of a request as the engine takes them. */
import { type RequestOptions } from "../engine/engine.ts";
import { type ListQuery } from "../engine/requests/list.ts";
import { type JsonObject, asArray, asObject, isObject } from "../engine/object.ts";
import { type OptionsKind, badRequest, invalidOptions } from "../engine/status.ts";
import { type WatchQuery } from "../engine/requests/watch.ts";
import { type FieldValidation } from "../engine/requests/write.ts";
import { type RestRequest } from "./messages.ts";

/** A boolean parameter; undefined when it was not sent. */
export function flag(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  return text === null ? undefined : text === "true" || text === "1" || text === "";
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** Throws 400. */
export function listQuery(query: URLSearchParams): ListQuery {
  return {
    labelSelector: query.get("labelSelector") ?? undefined,
    fieldSelector: query.get("fieldSelector") ?? undefined,
    resourceVersion: query.get("resourceVersion") ?? undefined,
    resourceVersionMatch: query.get("resourceVersionMatch") ?? undefined,
    limit: count(query, "limit"),
    continueToken: query.get("continue") ?? undefined,
  };
}

/** Throws 400. */
export function watchQuery(query: URLSearchParams): WatchQuery {
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

const fieldValidations: readonly FieldValidation[] = ["Ignore", "Strict", "Warn"];

function fieldValidationOf(kind: OptionsKind, query: URLSearchParams): FieldValidation {
  const text = query.get("fieldValidation") ?? "";
  const known = fieldValidations.find((value) => value === (text === "" ? "Warn" : text));
  if (known !== undefined) return known;
  const supported = fieldValidations.map((value) => JSON.stringify(value)).join(", ");
  throw invalidOptions(
    kind,
    "fieldValidation",
    `Unsupported value: ${JSON.stringify(text)}: supported values: ${supported}`,
  );
}

/** What the query says of a write. `warn` takes the warnings that it causes. Throws 422. */
export function requestOptions(request: RestRequest, warn: (text: string) => void): RequestOptions {
  const kind = optionsKinds[request.method] ?? "ListOptions";
  const dryRun = request.query.getAll("dryRun");
  checkDryRun(kind, dryRun);
  const fieldManager = request.query.get("fieldManager") ?? (request.userAgent === "" ? "unknown" : request.userAgent);
  const fieldValidation = fieldValidationOf(kind, request.query);
  return { caller: request.caller, dryRun: dryRun.length > 0, fieldManager, fieldValidation, warn };
}

/** DeleteOptions from the body, completed by the query. Throws 400 and 422. */
export function deleteOptionsOf(request: RestRequest): JsonObject {
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
