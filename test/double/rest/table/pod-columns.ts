/** The columns of a pod: what state it is in, in the words of `kubectl get pods`. */
import { type JsonObject, type KubeObject, asArray, asNumber, asObject, asString } from "../../engine/object.ts";
import { type Column, column } from "./column.ts";

function statusesOf(pod: KubeObject): readonly JsonObject[] {
  return asArray(pod.status?.["containerStatuses"]).map(asObject);
}

function isRunningReady(container: JsonObject): boolean {
  return container["ready"] === true && asObject(container["state"])["running"] !== undefined;
}

function readyText(pod: KubeObject): string {
  return `${statusesOf(pod).filter(isRunningReady).length}/${asArray(pod.spec?.["containers"]).length}`;
}

/** Why a container is not running: the reason of its waiting or of its end. */
function troubleOf(container: JsonObject): string | undefined {
  const { waiting, terminated } = asObject(container["state"]);
  return asString(asObject(waiting)["reason"]) ?? asString(asObject(terminated)["reason"]);
}

function statusText(pod: KubeObject): string {
  const phase = asString(pod.status?.["phase"]) ?? "";
  if (pod.metadata.deletionTimestamp !== undefined && phase !== "Succeeded" && phase !== "Failed") return "Terminating";
  const trouble = statusesOf(pod)
    .map(troubleOf)
    .find((reason) => (reason ?? "") !== "");
  return trouble ?? asString(pod.status?.["reason"]) ?? phase;
}

function restartsText(pod: KubeObject): string {
  return String(statusesOf(pod).reduce((sum, { restartCount }) => sum + (asNumber(restartCount) ?? 0), 0));
}

function orNone(value: unknown): string {
  return typeof value === "string" && value !== "" ? value : "<none>";
}

function readinessGates({ spec, status }: KubeObject): string {
  const gates = asArray(spec?.["readinessGates"]).map((gate) => asObject(gate)["conditionType"]);
  if (gates.length === 0) return "<none>";
  const met = asArray(status?.["conditions"])
    .map(asObject)
    .filter((condition) => gates.includes(condition["type"]) && condition["status"] === "True");
  return `${met.length}/${gates.length}`;
}

/** All but the name; `age` is the column that every built-in type has. */
export function podColumns(age: Column): readonly Column[] {
  return [
    column("Ready", "string", readyText),
    column("Status", "string", statusText),
    column("Restarts", "string", restartsText),
    age,
    column("IP", "string", ({ status }) => orNone(status?.["podIP"]), 1),
    column("Node", "string", ({ spec }) => orNone(spec?.["nodeName"]), 1),
    column("Nominated Node", "string", ({ status }) => orNone(status?.["nominatedNodeName"]), 1),
    column("Readiness Gates", "string", readinessGates, 1),
  ];
}
