/**
 * pods/eviction and pods/binding. An eviction is reviewed once, as CREATE of pods/eviction; then it marks the pod with
 * the DisruptionTarget condition and deletes by name, without DELETE admission and without preconditions of its own.
 */
import { reviewOptions } from "../admission.ts";
import { afterOwnMark, checkPreconditions, deleteObject } from "./delete.ts";
import { decodeObject, nowSeconds } from "../metadata.ts";
import {
  type JsonObject,
  type KubeObject,
  asArray,
  asNumber,
  asObject,
  asString,
  isObject,
  withFields,
} from "../object.ts";
import { builtInResources as types } from "../resources.ts";
import { compileLabelSelector } from "../selectors.ts";
import { ApiError, type Status, badRequest, conflict, isApiError, plainError, success } from "../status.ts";
import { internalUpdate } from "./update.ts";
import { type WriteContext, type WriteOptions, current } from "./write.ts";

const evictionKind = { group: "policy", version: "v1", kind: "Eviction" } as const;

/** `conditions` with the one of `condition`'s type set; lastTransitionTime moves only when its status does. */
export function withCondition(conditions: unknown, condition: JsonObject, time: string): JsonObject[] {
  const list = asArray(conditions).map(asObject);
  const before = list.find((item) => item["type"] === condition["type"]);
  const since = before?.["status"] === condition["status"] ? before?.["lastTransitionTime"] : undefined;
  return [
    ...list.filter((item) => item["type"] !== condition["type"]),
    { ...condition, lastTransitionTime: since ?? time },
  ];
}

function budgetsOf(context: WriteContext, pod: KubeObject): KubeObject[] {
  return [...context.store.values(types.podDisruptionBudgets)].filter(
    (budget) =>
      budget.metadata.namespace === pod.metadata.namespace &&
      compileLabelSelector(budget.spec?.["selector"])(pod.metadata.labels ?? {}),
  );
}

function budgetRefusal(message: string): ApiError {
  return new ApiError(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: "DisruptionBudget", message }],
  });
}

function isReady(pod: KubeObject): boolean {
  return asArray(pod.status?.["conditions"])
    .map(asObject)
    .some(({ type, status }) => type === "Ready" && status === "True");
}

/** True when the budget lets a pod go that is not ready, at no cost. */
function sparesUnready(policy: unknown, status: JsonObject): boolean {
  if (policy === "AlwaysAllow") return true;
  const desired = asNumber(status["desiredHealthy"]) ?? 0;
  return desired > 0 && (asNumber(status["currentHealthy"]) ?? 0) >= desired;
}

function whyNot(status: JsonObject): string {
  const [desired, healthy] = [asNumber(status["desiredHealthy"]) ?? 0, asNumber(status["currentHealthy"]) ?? 0];
  if (healthy > desired) return "does not allow evicting pods currently";
  return `needs ${desired} healthy pods and has ${healthy} currently`;
}

/**
 * Takes one disruption from the pod's budget, from the status that somebody else computes. Throws 429 when there is
 * none.
 */
function takeDisruption(context: WriteContext, pod: KubeObject, options: WriteOptions): void {
  // A pod that does not serve costs no availability.
  if (pod.metadata.deletionTimestamp !== undefined) return;
  if (["Succeeded", "Failed", "Pending"].includes(asString(pod.status?.["phase"]) ?? "")) return;
  const [budget, second] = budgetsOf(context, pod);
  if (budget === undefined) return;
  if (second !== undefined) {
    throw plainError(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const status = asObject(budget.status);
  if (!isReady(pod) && sparesUnready(budget.spec?.["unhealthyPodEvictionPolicy"], status)) return;
  const { name, namespace, generation } = budget.metadata;
  if ((asNumber(status["observedGeneration"]) ?? 0) < (generation ?? 0)) {
    throw budgetRefusal(`The disruption budget ${name} is still being processed by the server.`);
  }
  const allowed = asNumber(status["disruptionsAllowed"]) ?? 0;
  if (allowed <= 0) {
    throw budgetRefusal(`The disruption budget ${name} ${whyNot(status)}`);
  }
  const disruptedPods = { ...asObject(status["disruptedPods"]), [pod.metadata.name]: nowSeconds(context.clock) };
  internalUpdate(
    context,
    { type: types.podDisruptionBudgets, namespace, name },
    "status",
    (old) => withFields(old, { status: { ...old.status, disruptionsAllowed: allowed - 1, disruptedPods } }),
    options,
  );
}

/** POST pods/eviction. Throws 400, 404, 429 and what admission says. */
export async function evictPod(
  context: WriteContext,
  namespace: string,
  name: string,
  body: unknown,
  options: WriteOptions,
): Promise<Status> {
  const type = { ...types.pods, ...evictionKind };
  // The former version of the same kind is still read.
  const isFormer = isObject(body) && body["apiVersion"] === "policy/v1beta1";
  const eviction = decodeObject(type, isFormer ? { ...body, apiVersion: "policy/v1" } : body, namespace);
  if (eviction.metadata.name !== name) {
    throw badRequest("name in URL does not match name in Eviction object");
  }
  const deleteOptions = asObject(eviction["deleteOptions"]);
  const dryRun = options.dryRun || asArray(deleteOptions["dryRun"]).includes("All");
  await context.admission.validate({
    operation: "CREATE",
    type: types.pods,
    subresource: "eviction",
    kind: evictionKind,
    namespace,
    name,
    object: eviction,
    caller: options.caller,
    dryRun: options.dryRun,
    warn: options.warn,
    options: reviewOptions("CreateOptions", {}, options.dryRun),
  });
  const target = { type: types.pods, namespace, name };
  const pod = current(context, target);
  let wanted = deleteOptions;
  if (!dryRun) {
    takeDisruption(context, pod, options);
    const mark = (old: KubeObject): KubeObject => {
      checkPreconditions(target, old, deleteOptions);
      return markDisrupted(context, old);
    };
    wanted = afterOwnMark(deleteOptions, internalUpdate(context, target, "status", mark, options));
  }
  const request = { caller: options.caller, warn: options.warn, dryRun, reviewName: undefined, options: wanted };
  try {
    await deleteObject(context, target, request);
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
  return { ...success(), code: 201 };
}

function markDisrupted(context: WriteContext, pod: KubeObject): KubeObject {
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
  };
  const conditions = withCondition(pod.status?.["conditions"], condition, nowSeconds(context.clock));
  return withFields(pod, { status: { ...pod.status, conditions } });
}

/** The node that a Binding names. Throws 400 and 500, as the real server does for lack of a better code. */
export function nodeOfBinding(name: string, body: JsonObject): string {
  const { kind, name: nodeName } = asObject(body["target"]);
  if (asObject(body["metadata"])["name"] !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  if (kind !== undefined && kind !== "" && kind !== "Node") {
    throw plainError(`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`);
  }
  if (typeof nodeName !== "string" || nodeName === "") throw plainError("target.name: Required value");
  return nodeName;
}

/** POST pods/binding: assigns a pod to a node, as the scheduler does. Throws 404, and 409 when the pod has a node. */
export function bindPod(
  context: WriteContext,
  namespace: string,
  name: string,
  nodeName: string,
  options: WriteOptions,
): Status {
  const target = { type: types.pods, namespace, name };
  internalUpdate(
    context,
    target,
    "binding",
    (old) => {
      const assigned = asString(old.spec?.["nodeName"]) ?? "";
      const binding = { ...types.pods, resource: "pods/binding" };
      if (old.metadata.deletionTimestamp !== undefined) {
        throw conflict(binding, name, `pod ${name} is being deleted, cannot be assigned to a host`);
      }
      if (assigned !== "")
        throw conflict(binding, name, `pod ${name} is already assigned to node ${JSON.stringify(assigned)}`);
      const condition = { type: "PodScheduled", status: "True" };
      const conditions = withCondition(old.status?.["conditions"], condition, nowSeconds(context.clock));
      return withFields(old, { spec: { ...old.spec, nodeName }, status: { ...old.status, conditions } });
    },
    options,
  );
  return { ...success(), code: 201 };
}
