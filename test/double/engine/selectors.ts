/** Label selectors (query texts and LabelSelector objects) and field selectors. */
import { type KubeObject, asArray, asObject, asString } from "./object.ts";
import { type ResourceType } from "./resources.ts";
import { type ApiError, badRequest } from "./status.ts";

export type LabelMatch = (labels: Readonly<Record<string, string>>) => boolean;

function inSet(key: string, values: readonly string[], negated: boolean): LabelMatch {
  // As in Kubernetes, NotIn and != also match an object without the key.
  return (labels) => {
    const value = labels[key];
    return value === undefined ? negated : values.includes(value) !== negated;
  };
}

function hasKey(key: string, negated: boolean): LabelMatch {
  return (labels) => Object.hasOwn(labels, key) !== negated;
}

function compare(key: string, bound: string, greater: boolean): LabelMatch {
  return (labels) => {
    const value = labels[key];
    if (value === undefined || !/^-?\d+$/.test(value)) return false;
    return greater ? Number(value) > Number(bound) : Number(value) < Number(bound);
  };
}

const labelName = "[A-Za-z0-9](?:[A-Za-z0-9./_-]*[A-Za-z0-9])?";
const setTerm = new RegExp(`^(${labelName})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equalTerm = new RegExp(`^(${labelName})\\s*(==|=|!=)\\s*([A-Za-z0-9._-]*)$`);
const orderTerm = new RegExp(`^(${labelName})\\s*([<>])\\s*(-?\\d+)$`);
const existTerm = new RegExp(`^(!?)\\s*(${labelName})$`);

function parseTerm(term: string): LabelMatch | undefined {
  const set = setTerm.exec(term);
  if (set !== null) {
    const values = set[3]!.split(",").map((value) => value.trim());
    return inSet(set[1]!, values, set[2] === "notin");
  }
  const equal = equalTerm.exec(term);
  if (equal !== null) return inSet(equal[1]!, [equal[3]!], equal[2] === "!=");
  const order = orderTerm.exec(term);
  if (order !== null) return compare(order[1]!, order[3]!, order[2] === ">");
  const exist = existTerm.exec(term);
  if (exist !== null) return hasKey(exist[2]!, exist[1] === "!");
  return undefined;
}

/** Parses the `labelSelector` query parameter; undefined when it selects everything. Throws 400. */
export function parseLabelSelector(text: string | undefined): LabelMatch | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  // Commas inside `in (a,b)` do not separate terms.
  const terms = text.split(/,(?![^(]*\))/).map((term) => term.trim());
  const matches = terms.map((term) => {
    const match = parseTerm(term);
    if (match === undefined)
      throw badRequest(`unable to parse requirement: ${JSON.stringify(term)} in ${JSON.stringify(text)}`);
    return match;
  });
  return (labels) => matches.every((match) => match(labels));
}

/**
 * A metav1.LabelSelector object: absent matches nothing, empty matches everything. Throws 400 for an unknown operator.
 */
export function compileLabelSelector(selector: unknown): LabelMatch {
  if (selector === undefined || selector === null) return () => false;
  const { matchLabels, matchExpressions } = asObject(selector);
  const matches = Object.entries(asObject(matchLabels)).map(([key, value]) => inSet(key, [String(value)], false));
  for (const item of asArray(matchExpressions)) {
    const { key, operator, values } = asObject(item);
    const name = String(key);
    const texts = asArray(values).map(String);
    if (operator === "In" || operator === "NotIn") matches.push(inSet(name, texts, operator === "NotIn"));
    else if (operator === "Exists" || operator === "DoesNotExist")
      matches.push(hasKey(name, operator === "DoesNotExist"));
    else throw badRequest(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
  return (labels) => matches.every((match) => match(labels));
}

export type FieldMatch = (object: KubeObject) => boolean;

const commonFields: Readonly<Record<string, (object: KubeObject) => string>> = {
  "metadata.name": (object) => object.metadata.name,
  "metadata.namespace": (object) => object.metadata.namespace ?? "",
};
const podFields: Readonly<Record<string, (object: KubeObject) => string>> = {
  ...commonFields,
  "spec.nodeName": (object) => asString(object.spec?.["nodeName"]) ?? "",
  "spec.restartPolicy": (object) => asString(object.spec?.["restartPolicy"]) ?? "",
  "spec.serviceAccountName": (object) => asString(object.spec?.["serviceAccountName"]) ?? "",
  "spec.schedulerName": (object) => asString(object.spec?.["schedulerName"]) ?? "",
  "spec.hostNetwork": (object) => String(object.spec?.["hostNetwork"] === true),
  "status.phase": (object) => asString(object.status?.["phase"]) ?? "",
  "status.podIP": (object) => asString(object.status?.["podIP"]) ?? "",
  "status.nominatedNodeName": (object) => asString(object.status?.["nominatedNodeName"]) ?? "",
};
const eventFields: Readonly<Record<string, (object: KubeObject) => string>> = {
  ...commonFields,
  "involvedObject.kind": (object) => asString(asObject(object["involvedObject"])["kind"]) ?? "",
  "involvedObject.name": (object) => asString(asObject(object["involvedObject"])["name"]) ?? "",
  "involvedObject.namespace": (object) => asString(asObject(object["involvedObject"])["namespace"]) ?? "",
  "involvedObject.uid": (object) => asString(asObject(object["involvedObject"])["uid"]) ?? "",
  "involvedObject.apiVersion": (object) => asString(asObject(object["involvedObject"])["apiVersion"]) ?? "",
  "involvedObject.fieldPath": (object) => asString(asObject(object["involvedObject"])["fieldPath"]) ?? "",
  reportingComponent: (object) => asString(object["reportingComponent"]) ?? "",
  source: (object) => asString(asObject(object["source"])["component"]) ?? "",
  reason: (object) => asString(object["reason"]) ?? "",
  type: (object) => asString(object["type"]) ?? "",
};

function fieldsOf(type: ResourceType): Readonly<Record<string, (object: KubeObject) => string>> {
  if (type.group === "" && type.resource === "pods") return podFields;
  if (type.group === "" && type.resource === "events") return eventFields;
  return commonFields;
}

function unknownField(type: ResourceType, fields: Readonly<Record<string, unknown>>, field: string): ApiError {
  if (fields !== commonFields || type.custom) return badRequest(`field label not supported: ${field}`);
  const known = Object.keys(fields).map((name) => JSON.stringify(name));
  return badRequest(`${JSON.stringify(field)} is not a known field selector: only ${known.join(", ")}`);
}

/**
 * Parses the `fieldSelector` query parameter; undefined when it selects everything. Throws 400 for a field that has no
 * selector.
 */
export function parseFieldSelector(type: ResourceType, text: string | undefined): FieldMatch | undefined {
  if (text === undefined || text === "") return undefined;
  const fields = fieldsOf(type);
  const terms = text.split(",").filter((term) => term !== "");
  const matches = terms.map((term): FieldMatch => {
    const parts = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    if (parts === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
    const read = Object.hasOwn(fields, parts[1]!) ? fields[parts[1]!] : undefined;
    if (read === undefined) throw unknownField(type, fields, parts[1]!);
    return (object) => (read(object) === parts[3]) === (parts[2] !== "!=");
  });
  return (object) => matches.every((match) => match(object));
}
