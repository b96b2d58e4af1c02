/**
 * CustomResourceDefinitions of the PodProtector for tests: upstream's strict one, and one that keeps whatever it is
 * given.
 */
import { type JsonObject } from "./engine/object.ts";

function definition(schema: JsonObject): JsonObject {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "podprotectors.podseidon.kubewharf.io" },
    spec: {
      group: "podseidon.kubewharf.io",
      scope: "Namespaced",
      names: {
        kind: "PodProtector",
        listKind: "PodProtectorList",
        plural: "podprotectors",
        singular: "podprotector",
        shortNames: ["ppr"],
      },
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

/** Keeps every field and validates nothing: for tests that are not about the schema. */
export function permissivePodProtectorCrd(): JsonObject {
  return definition({ type: "object", "x-kubernetes-preserve-unknown-fields": true });
}

const int32: JsonObject = { type: "integer", format: "int32" };
const count: JsonObject = { ...int32, minimum: 0 };
const text: JsonObject = { type: "string" };
const time: JsonObject = { type: "string", format: "date-time" };

function object(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}
function list(items: JsonObject): JsonObject {
  return { type: "array", items };
}

const labelSelector = object({
  matchLabels: { type: "object", additionalProperties: text },
  matchExpressions: list(object({ key: text, operator: text, values: list(text) }, ["key", "operator"])),
});
const bucket = object({ startTime: time, podName: text, podUID: text, endTime: time, counter: int32 }, ["startTime"]);
const aggregation = object(
  {
    totalReplicas: count,
    availableReplicas: count,
    readyReplicas: int32,
    scheduledReplicas: int32,
    runningReplicas: int32,
    lastEventTime: time,
  },
  ["totalReplicas", "availableReplicas"],
);
const cell = object({ cellID: text, aggregation, admissionHistory: object({ buckets: list(bucket) }) }, ["cellID"]);
const summary = object(
  {
    totalReplicas: int32,
    aggregatedAvailableReplicas: int32,
    estimatedAvailableReplicas: int32,
    maxLatencyMillis: { type: "integer", format: "int64" },
    aggregatedReady: int32,
    aggregatedScheduled: int32,
    aggregatedRunning: int32,
  },
  ["totalReplicas", "aggregatedAvailableReplicas", "estimatedAvailableReplicas"],
);

/**
 * The fields of upstream's CRD and no others: extension fields are pruned, as on a cluster where upstream's chart is
 * installed.
 */
export function upstreamPodProtectorCrd(): JsonObject {
  const admissionHistoryConfig = object({
    maxConcurrentLag: int32,
    compactThreshold: int32,
    aggregationRateMillis: int32,
  });
  const spec = object(
    {
      minAvailable: count,
      minReadySeconds: int32,
      selector: labelSelector,
      aggregationSelector: labelSelector,
      admissionHistoryConfig,
    },
    ["minAvailable", "minReadySeconds", "selector"],
  );
  const status = object({ cells: list(cell), summary }, ["cells", "summary"]);
  return definition({
    ...object({ apiVersion: text, kind: text, metadata: { type: "object" }, spec, status }, ["spec"]),
  });
}
