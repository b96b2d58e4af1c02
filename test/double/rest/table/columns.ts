/**
 * The columns that `kubectl get` shows: those of the real server for the types that people look at here, name and age
 * for the rest.
 */
import { type JsonObject, type KubeObject, asArray, asNumber, asObject, asString } from "../../engine/object.ts";
import { type ResourceType, builtInResources as types } from "../../engine/resources.ts";
import { type Cell, type Column, column } from "./column.ts";
import { eventColumns } from "./event-columns.ts";
import { ageOf } from "./human-duration.ts";
import { compileJsonPath } from "./json-path.ts";
import { podColumns } from "./pod-columns.ts";

const nameColumn: Column = { ...column("Name", "string", ({ metadata }) => metadata.name), format: "name" };
const ageColumn = column("Age", "string", ({ metadata }, nowMs) => ageOf(metadata.creationTimestamp, nowMs));

/** A number at `path`; 0 when absent. */
function numberAt(path: string): (object: KubeObject) => number {
  const read = compileJsonPath(path);
  return (object) => asNumber(read(object)) ?? 0;
}

/** A text at `path`; `fallback` when absent or empty. */
function textAt(path: string, fallback: string): Cell {
  const read = compileJsonPath(path);
  return (object) => {
    const found = asString(read(object)) ?? asNumber(read(object))?.toString() ?? "";
    return found === "" ? fallback : found;
  };
}

/** How many entries a map or a list has. */
function sizeOf(field: string): Cell {
  return (object) => Object.keys(Array.isArray(object[field]) ? object[field] : asObject(object[field])).length;
}

function templateContainers(field: "name" | "image"): Cell {
  return ({ spec }) => {
    const podSpec = asObject(asObject(asObject(spec)["template"])["spec"]);
    return asArray(podSpec["containers"])
      .map((item) => asString(asObject(item)[field]) ?? "")
      .join(",");
  };
}

function selectorText({ spec }: KubeObject): string {
  const { matchLabels } = asObject(asObject(spec)["selector"]);
  return Object.entries(asObject(matchLabels))
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(",");
}

const containerColumns = [
  column("Containers", "string", templateContainers("name"), 1),
  column("Images", "string", templateContainers("image"), 1),
];
const selectorColumn = column("Selector", "string", selectorText, 1);

function readyOfWanted(object: KubeObject): string {
  return `${numberAt(".status.readyReplicas")(object)}/${numberAt(".spec.replicas")(object)}`;
}

const rolePrefix = "node-role.kubernetes.io/";

function nodeStatus({ spec, status }: KubeObject): string {
  const ready = asArray(status?.["conditions"])
    .map(asObject)
    .find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return spec?.["unschedulable"] === true ? `${state},SchedulingDisabled` : state;
}

function nodeRoles({ metadata }: KubeObject): string {
  const roles = Object.keys(metadata.labels ?? {})
    .filter((key) => key.startsWith(rolePrefix))
    .map((key) => key.slice(rolePrefix.length));
  return roles.length === 0 ? "<none>" : roles.toSorted().join(",");
}

function addressOf(type: string): Cell {
  return textAt(`.status.addresses[?(@.type=="${type}")].address`, "<none>");
}

const nodeColumns = [
  nameColumn,
  column("Status", "string", nodeStatus),
  column("Roles", "string", nodeRoles),
  ageColumn,
  column("Version", "string", textAt(".status.nodeInfo.kubeletVersion", "")),
  column("Internal-IP", "string", addressOf("InternalIP"), 1),
  column("External-IP", "string", addressOf("ExternalIP"), 1),
  column("OS-Image", "string", textAt(".status.nodeInfo.osImage", "<unknown>"), 1),
  column("Kernel-Version", "string", textAt(".status.nodeInfo.kernelVersion", "<unknown>"), 1),
  column("Container-Runtime", "string", textAt(".status.nodeInfo.containerRuntimeVersion", "<unknown>"), 1),
];

function builtInColumns(type: ResourceType): readonly Column[] {
  switch (type) {
    case types.pods:
      return [nameColumn, ...podColumns(ageColumn)];
    case types.deployments:
      return [
        nameColumn,
        column("Ready", "string", readyOfWanted),
        column("Up-to-date", "string", numberAt(".status.updatedReplicas")),
        column("Available", "string", numberAt(".status.availableReplicas")),
        ageColumn,
        ...containerColumns,
        selectorColumn,
      ];
    case types.replicaSets:
      return [
        nameColumn,
        column("Desired", "integer", numberAt(".spec.replicas")),
        column("Current", "integer", numberAt(".status.replicas")),
        column("Ready", "integer", numberAt(".status.readyReplicas")),
        ageColumn,
        ...containerColumns,
        selectorColumn,
      ];
    case types.statefulSets:
      return [nameColumn, column("Ready", "string", readyOfWanted), ageColumn, ...containerColumns];
    case types.podDisruptionBudgets:
      return [
        nameColumn,
        column("Min Available", "string", textAt(".spec.minAvailable", "N/A")),
        column("Max Unavailable", "string", textAt(".spec.maxUnavailable", "N/A")),
        column("Allowed Disruptions", "integer", numberAt(".status.disruptionsAllowed")),
        ageColumn,
      ];
    case types.namespaces:
      return [nameColumn, column("Status", "string", textAt(".status.phase", "")), ageColumn];
    case types.leases:
      return [nameColumn, column("Holder", "string", textAt(".spec.holderIdentity", "")), ageColumn];
    case types.configMaps:
      return [nameColumn, column("Data", "string", sizeOf("data")), ageColumn];
    case types.nodes:
      return nodeColumns;
    case types.events:
      return eventColumns;
    case types.secrets:
      return [
        nameColumn,
        column("Type", "string", textAt(".type", "")),
        column("Data", "string", sizeOf("data")),
        ageColumn,
      ];
    case types.validatingWebhookConfigurations:
      return [nameColumn, column("Webhooks", "integer", sizeOf("webhooks")), ageColumn];
    case types.customResourceDefinitions:
      return [
        nameColumn,
        { ...column("Created At", "string", textAt(".metadata.creationTimestamp", "")), type: "date" },
      ];
    default:
      return [nameColumn, ageColumn];
  }
}

const ageByPath: JsonObject = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

/**
 * A column of a CustomResourceDefinition's additionalPrinterColumns. What is not there, or of another type, is null.
 */
function customColumn(definition: JsonObject): Column {
  const read = compileJsonPath(asString(definition["jsonPath"]) ?? "");
  const type = asString(definition["type"]) ?? "string";
  return {
    name: asString(definition["name"]) ?? "",
    type,
    format: asString(definition["format"]) ?? "",
    description: asString(definition["description"]) ?? "Custom resource definition column (in JSONPath format)",
    priority: asNumber(definition["priority"]) ?? 0,
    cell(object, nowMs) {
      const value = read(object) ?? null;
      if (value === null) return null;
      if (type === "date") return ageOf(value, nowMs);
      if (type === "integer" || type === "number") return asNumber(value) ?? null;
      if (type === "boolean") return typeof value === "boolean" ? value : null;
      return typeof value === "string" ? value : JSON.stringify(value);
    },
  };
}

/** The columns of a resource, the name first. Throws 501 for a JSON path that the double cannot read. */
export function columnsOf(type: ResourceType): readonly Column[] {
  if (!type.custom) return builtInColumns(type);
  const definitions = type.printerColumns.length === 0 ? [ageByPath] : type.printerColumns;
  return [nameColumn, ...definitions.map(customColumn)];
}
