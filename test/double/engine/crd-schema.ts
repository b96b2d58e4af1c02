/**
 * The structural schema of a CustomResourceDefinition: pruning of unknown fields, defaults, and validation with the
 * server's wording. CEL rules (x-kubernetes-validations) are not evaluated.
 */
import { Ajv, type ErrorObject } from "ajv";
import { type JsonObject, type KubeObject, asArray, asObject, isObject } from "./object.ts";
import { type FieldError } from "./status.ts";

/** `drop` is told the path of each field that the schema does not know. */
function pruneValue(schema: JsonObject, value: unknown, path: string, drop: (path: string) => void): unknown {
  if (Array.isArray(value)) {
    const items = schema["items"];
    return isObject(items) ? value.map((item, at) => pruneValue(items, item, `${path}[${at}]`, drop)) : value;
  }
  if (!isObject(value)) return value;
  const properties = asObject(schema["properties"]);
  const additional = schema["additionalProperties"];
  const kept: Record<string, unknown> = {};
  const below = (key: string): string => (path === "" ? key : `${path}.${key}`);
  for (const [key, field] of Object.entries(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (isObject(property)) {
      // The server drops a null where the schema has a default and no null; elsewhere validation speaks.
      if (field === null && property["nullable"] !== true && property["default"] !== undefined) continue;
      kept[key] = pruneValue(property, field, below(key), drop);
    } else if (isObject(additional)) kept[key] = pruneValue(additional, field, below(key), drop);
    else if (additional === true || schema["x-kubernetes-preserve-unknown-fields"] === true) kept[key] = field;
    else drop(below(key));
  }
  for (const [key, property] of Object.entries(properties)) {
    const fallback = asObject(property)["default"];
    if (fallback !== undefined && !Object.hasOwn(kept, key))
      kept[key] = pruneValue(asObject(property), structuredClone(fallback), below(key), drop);
  }
  return kept;
}

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function fieldPath(error: ErrorObject, extra?: string): string {
  const parts = error.instancePath.split("/").slice(1);
  if (extra !== undefined) parts.push(extra);
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === "" ? part : `${path}.${part}`),
    "",
  );
}

function fieldError(error: ErrorObject): FieldError {
  const params = error.params as JsonObject;
  if (error.keyword === "required") {
    const missing = String(params["missingProperty"]);
    return { field: fieldPath(error, missing), reason: "FieldValueRequired", detail: "Required value" };
  }
  const field = fieldPath(error);
  const shown = JSON.stringify(error.data);
  if (error.keyword === "type") {
    const got = Array.isArray(error.data) ? "array" : error.data === null ? "null" : typeof error.data;
    const detail =
      `Invalid value: ${JSON.stringify(got)}: ${field} in body must be of type ` +
      `${String(params["type"])}: ${JSON.stringify(got)}`;
    return { field, reason: "FieldValueTypeInvalid", detail };
  }
  if (error.keyword === "format" && params["format"] === "int32") {
    // The server checks this one after the schema, and names the field in the text only.
    const why = `Checked value must be of type integer with format int32 in ${field}`;
    return { field: "<nil>", reason: "FieldValueInvalid", detail: `Invalid value: "": ${why}` };
  }
  const limit = String(params["limit"]);
  const detail =
    error.keyword === "minimum"
      ? `Invalid value: ${shown}: ${field} in body should be greater than or equal to ${limit}`
      : error.keyword === "maximum"
        ? `Invalid value: ${shown}: ${field} in body should be less than or equal to ${limit}`
        : error.keyword === "enum"
          ? `Unsupported value: ${shown}: supported values: ${asArray(params["allowedValues"])
              .map((value) => JSON.stringify(value))
              .join(", ")}`
          : `Invalid value: ${shown}: ${field} in body ${error.message ?? "is invalid"}`;
  return { field, reason: "FieldValueInvalid", detail };
}

export interface CustomSchema {
  /** Drops unknown fields, whose paths it tells, and fills in defaults; apiVersion, kind and metadata stay. */
  prune(object: KubeObject): { readonly pruned: KubeObject; readonly dropped: readonly string[] };
  validate(object: KubeObject): readonly FieldError[];
}

const ajv = new Ajv({ strict: false, allErrors: true, verbose: true });
ajv.addFormat("date-time", dateTime);
ajv.addFormat("int32", { type: "number", validate: (value: number) => value >= -(2 ** 31) && value < 2 ** 31 });
for (const format of ["int64", "float", "double", "byte", "date", "duration"]) ajv.addFormat(format, true);

/** By text. Tests and simulations begin thousands of clusters with the same few definitions. */
const compiled = new Map<string, CustomSchema>();
/** More than there are kinds of sources; whoever draws schemas at random does not fill the memory. */
const compiledMax = 50;

/** Compiles the `openAPIV3Schema` of a CRD version; a schema that is no schema throws. */
export function compileCustomSchema(schema: JsonObject): CustomSchema {
  const text = JSON.stringify(schema);
  const known = compiled.get(text) ?? compileAnew(structuredClone(schema));
  if (compiled.size >= compiledMax) compiled.clear();
  compiled.set(text, known);
  return known;
}

function compileAnew(schema: JsonObject): CustomSchema {
  // metadata is not the CRD's to describe.
  const root = { ...schema, properties: { ...asObject(schema["properties"]), metadata: {} } };
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const validate = ajv.compile(root);
  // It keeps what it has compiled, by identity.
  ajv.removeSchema(root);
  return {
    prune(object) {
      const { apiVersion, kind, metadata, ...rest } = object;
      const dropped: string[] = [];
      const kept = preserves ? rest : asObject(pruneValue(root, rest, "", (path) => dropped.push(path)));
      return { pruned: { ...kept, apiVersion, kind, metadata }, dropped };
    },
    validate(object) {
      return validate(object) ? [] : (validate.errors ?? []).map(fieldError);
    },
  };
}
