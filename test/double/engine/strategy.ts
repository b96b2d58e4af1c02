/**
 * What each built-in resource does to an object before it is stored: defaults, what a write may touch, and validation.
 */
import {
  type KubeObject,
  type JsonObject,
  asArray,
  asObject,
  asString,
  jsonEquals,
  withFields,
  withMetadata,
} from "./object.ts";
import { type ResourceType, builtInResources as types } from "./resources.ts";
import { compileLabelSelector } from "./selectors.ts";
import { type FieldError, notImplemented } from "./status.ts";

function required(field: string): FieldError {
  return { field, reason: "FieldValueRequired", detail: "Required value" };
}
function wrong(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", detail: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

const podSpecDefaults = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 30,
  dnsPolicy: "ClusterFirst",
  schedulerName: "default-scheduler",
  securityContext: {},
};
const rollingUpdateDefaults = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } };

function withSpecDefaults(object: KubeObject, defaults: JsonObject): KubeObject {
  return withFields(object, { spec: { ...defaults, ...object.spec } });
}

function deploymentDefaults(object: KubeObject): KubeObject {
  const defaults = {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: rollingUpdateDefaults,
  };
  const result = withSpecDefaults(object, defaults);
  const strategy = asObject(result.spec?.["strategy"]);
  if (asString(strategy["type"]) === "Recreate") return result;
  const rollingUpdate = { ...rollingUpdateDefaults.rollingUpdate, ...asObject(strategy["rollingUpdate"]) };
  return withFields(result, { spec: { ...result.spec, strategy: { type: "RollingUpdate", rollingUpdate } } });
}

/** Fills in what the server fills in on every write of the main resource. */
export function applyDefaults(type: ResourceType, object: KubeObject): KubeObject {
  switch (type) {
    case types.pods:
      return withSpecDefaults(object, podSpecDefaults);
    case types.deployments:
      return deploymentDefaults(object);
    case types.replicaSets:
    case types.replicationControllers:
      return withSpecDefaults(object, { replicas: 1 });
    case types.statefulSets:
      return withSpecDefaults(object, {
        replicas: 1,
        podManagementPolicy: "OrderedReady",
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
        revisionHistoryLimit: 10,
      });
    case types.configMaps:
    case types.secrets:
      return jsonEquals(object["data"], {}) ? withFields(object, { data: undefined }) : object;
    case types.namespaces:
      return withMetadata(withSpecDefaults(object, { finalizers: ["kubernetes"] }), {
        labels: { ...object.metadata.labels, "kubernetes.io/metadata.name": object.metadata.name },
      });
    default:
      return object;
  }
}

/** The status that a new object starts with, whatever the client sent. */
export function initialStatus(type: ResourceType, object: KubeObject): KubeObject {
  switch (type) {
    case types.pods:
      return withFields(object, { status: { phase: "Pending", qosClass: "BestEffort" } });
    case types.namespaces:
      return withFields(object, { status: { phase: "Active" } });
    case types.services:
      return withFields(object, { status: { loadBalancer: {} } });
    case types.deployments:
      return withFields(object, { status: {} });
    case types.replicaSets:
    case types.replicationControllers:
      return withFields(object, { status: { replicas: 0 } });
    case types.statefulSets:
      return withFields(object, { status: { replicas: 0, availableReplicas: 0 } });
    case types.podDisruptionBudgets:
      return withFields(object, {
        status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
      });
    case types.nodes: // a kubelet registers its node together with the status
    case types.customResourceDefinitions:
      return object;
    default:
      return type.hasStatus ? withFields(object, { status: undefined }) : object;
  }
}

/** A write of the main resource: the status stays as it was. */
export function mainUpdate(type: ResourceType, old: KubeObject, next: KubeObject): KubeObject {
  return type.hasStatus ? withFields(next, { status: old.status }) : next;
}

/** A write of the status subresource: only what the real server lets through it. */
export function statusUpdate(type: ResourceType, old: KubeObject, next: KubeObject): KubeObject {
  if (type.custom) return withFields(old, { status: next.status });
  const { metadata } = next;
  // Built-in types let labels and annotations through; that is what pod fencing through pods/status relies on.
  return withFields(
    withMetadata(old, {
      labels: type === types.deployments ? old.metadata.labels : metadata.labels,
      annotations: metadata.annotations,
      finalizers: metadata.finalizers,
    }),
    { status: next.status },
  );
}

/** True when the desired state differs, which moves metadata.generation. */
export function desiredStateChanged(type: ResourceType, old: KubeObject, next: KubeObject): boolean {
  // Alone among the workloads, a Deployment hands its annotations on to what it makes.
  if (type === types.deployments && !jsonEquals(old.metadata.annotations, next.metadata.annotations)) return true;
  const { metadata: _m1, status: _s1, ...before } = old;
  const { metadata: _m2, status: _s2, ...after } = next;
  return !jsonEquals(before, after);
}

const podFieldsThatMayChange = ["tolerations", "activeDeadlineSeconds", "schedulingGates"];

function podSpecWithoutMutable(spec: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(spec).filter(([key]) => !podFieldsThatMayChange.includes(key)));
  const withoutImages = (list: unknown): unknown[] => asArray(list).map((item) => ({ ...asObject(item), image: "" }));
  return {
    ...kept,
    containers: withoutImages(spec["containers"]),
    initContainers: withoutImages(spec["initContainers"]),
  };
}

function validatePod(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const spec = asObject(object.spec);
  if (asArray(spec["containers"]).length === 0) return [required("spec.containers")];
  if (old === undefined || jsonEquals(podSpecWithoutMutable(asObject(old.spec)), podSpecWithoutMutable(spec)))
    return [];
  const detail =
    "Forbidden: pod updates may not change fields other than " +
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` " +
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set " +
    "to 1 if it was previously negative)";
  return [{ field: "spec", reason: "FieldValueForbidden", detail }];
}

function validateWorkload(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const { selector, template, replicas } = asObject(object.spec);
  if (selector === undefined) return [required("spec.selector")];
  if (jsonEquals(selector, {})) {
    return [wrong("spec.selector", selector, `empty selector is invalid for ${object.kind.toLowerCase()}`)];
  }
  const labels = asObject(asObject(asObject(template)["metadata"])["labels"]) as Record<string, string>;
  if (!compileLabelSelector(selector)(labels)) {
    return [wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")];
  }
  if (typeof replicas === "number" && replicas < 0) {
    return [wrong("spec.replicas", replicas, "must be greater than or equal to 0")];
  }
  if (old !== undefined && !jsonEquals(asObject(old.spec)["selector"], selector)) {
    return [wrong("spec.selector", selector, "field is immutable")];
  }
  return [];
}

function validateWebhooks(object: KubeObject): FieldError[] {
  const errors: FieldError[] = [];
  asArray(object["webhooks"]).forEach((item, index) => {
    const webhook = asObject(item);
    const path = `webhooks[${index}]`;
    // CEL needs an interpreter; a condition that is silently not evaluated would be a wrong answer.
    if (asArray(webhook["matchConditions"]).length > 0) throw notImplemented("matchConditions of webhooks");
    if (webhook["clientConfig"] === undefined) errors.push(required(`${path}.clientConfig`));
    if (asArray(webhook["admissionReviewVersions"]).length === 0)
      errors.push(required(`${path}.admissionReviewVersions`));
    if (webhook["sideEffects"] !== "None" && webhook["sideEffects"] !== "NoneOnDryRun") {
      errors.push(required(`${path}.sideEffects`));
    }
  });
  return errors;
}

const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;

/** A time of a Lease that the server cannot read, in its words; undefined = none. */
export function unreadableTime(type: ResourceType, object: KubeObject): string | undefined {
  if (type !== types.leases) return undefined;
  const { acquireTime, renewTime } = asObject(object.spec);
  for (const time of [acquireTime, renewTime]) {
    if (typeof time !== "string" || microTime.test(time)) continue;
    return `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse`;
  }
  return undefined;
}

function validateLease(object: KubeObject): FieldError[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions } = asObject(object.spec);
  const errors: FieldError[] = [];
  if (typeof seconds === "number" && seconds <= 0) {
    errors.push(wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0"));
  }
  if (typeof transitions === "number" && transitions < 0) {
    errors.push(wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
  }
  return errors;
}

function validateEvent(object: KubeObject): FieldError[] {
  const namespace = asString(asObject(object["involvedObject"])["namespace"]) ?? "";
  // Events of what has no namespace are kept in this one.
  if ((namespace === "" ? "default" : namespace) === object.metadata.namespace) return [];
  return [wrong("involvedObject.namespace", namespace, "does not match event.namespace")];
}

/** The rules of the real server that a mistake of ours would meet; not its whole validation. */
export function validateBuiltIn(
  type: ResourceType,
  object: KubeObject,
  old: KubeObject | undefined,
): readonly FieldError[] {
  switch (type) {
    case types.pods:
      return validatePod(object, old);
    case types.deployments:
    case types.replicaSets:
    case types.statefulSets:
      return validateWorkload(object, old);
    case types.validatingWebhookConfigurations:
      return validateWebhooks(object);
    case types.leases:
      return validateLease(object);
    case types.events:
      return validateEvent(object);
    default:
      return [];
  }
}
