/** PodProtectors, pods and reviews as they come over the wire, for the tests of the webhook. */

export type Json = Record<string, unknown>;

export interface ProtectorParts {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly annotations?: Record<string, string>;
  readonly minAvailable?: number;
  readonly minReadySeconds?: number;
  readonly selector?: Json;
  readonly aggregationSelector?: Json;
  readonly admissionHistoryConfig?: Json;
  readonly cells?: readonly Json[];
}

/** Selects app=web in the namespace ns; no counts. */
export function protector(parts: ProtectorParts = {}): Json {
  const name = parts.name ?? "web";
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: {
      namespace: parts.namespace ?? "ns",
      name,
      uid: parts.uid ?? `uid-of-${name}`,
      generation: parts.generation ?? 1,
      ...(parts.creationTimestamp !== undefined && { creationTimestamp: parts.creationTimestamp }),
      ...(parts.annotations && { annotations: parts.annotations }),
    },
    spec: {
      minAvailable: parts.minAvailable ?? 80,
      minReadySeconds: parts.minReadySeconds ?? 0,
      selector: parts.selector ?? { matchLabels: { app: "web" } },
      ...(parts.aggregationSelector && { aggregationSelector: parts.aggregationSelector }),
      ...(parts.admissionHistoryConfig && { admissionHistoryConfig: parts.admissionHistoryConfig }),
    },
    status: {
      cells: parts.cells ?? [],
      summary: { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 },
    },
  };
}

/** A cell whose `count` pods meet every criterion; `extra` overrides single fields of the aggregation. */
export function cell(cellID: string, count: number, extra: Json = {}, buckets: readonly Json[] = []): Json {
  const aggregation = {
    totalReplicas: count,
    availableReplicas: count,
    readyReplicas: count,
    scheduledReplicas: count,
    runningReplicas: count,
    initializedReplicas: count,
    lastEventTime: "2026-01-01T00:00:00.000000Z",
    resourceVersion: "1000",
    ...extra,
  };
  return { cellID, aggregation, ...(buckets.length > 0 && { admissionHistory: { buckets } }) };
}

export interface PodParts {
  readonly namespace?: string;
  readonly uid?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly resourceVersion?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly terminating?: boolean;
  readonly ready?: boolean;
  readonly scheduled?: boolean;
  readonly readySince?: string;
  readonly phase?: string;
  readonly nodeName?: string;
}

/** Running and Ready since long, labelled app=web. */
export function pod(name: string, parts: PodParts = {}): Json {
  const { ready = true, scheduled = true } = parts;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace: parts.namespace ?? "ns",
      name,
      uid: parts.uid ?? `uid-${name}`,
      resourceVersion: parts.resourceVersion ?? "500",
      labels: parts.labels ?? { app: "web" },
      ...(parts.annotations && { annotations: parts.annotations }),
      ...(parts.terminating === true && { deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30 }),
    },
    ...(parts.nodeName !== undefined && { spec: { nodeName: parts.nodeName } }),
    status: {
      phase: parts.phase ?? "Running",
      conditions: [
        { type: "PodScheduled", status: scheduled ? "True" : "False" },
        { type: "Initialized", status: "True" },
        {
          type: "Ready",
          status: ready ? "True" : "False",
          lastTransitionTime: parts.readySince ?? "2025-12-31T00:00:00Z",
        },
      ],
    },
  };
}

/** The review of a DELETE of `oldObject`; `extra` overrides fields of the request. */
export function deleteReview(oldObject: unknown, extra: Json = {}): Json {
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: "review-1",
      operation: "DELETE",
      resource: { group: "", version: "v1", resource: "pods" },
      namespace: "ns",
      userInfo: { username: "system:serviceaccount:kube-system:replicaset-controller" },
      object: null,
      oldObject,
      dryRun: false,
      options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" },
      ...extra,
    },
  };
}

export const podGarbageCollector = "system:serviceaccount:kube-system:pod-garbage-collector";

/** The review of the write by which pod garbage collection ends `oldObject`; `extra` overrides fields. */
export function endReview(oldObject: unknown, extra: Json = {}): Json {
  return deleteReview(oldObject, {
    operation: "UPDATE",
    subResource: "status",
    userInfo: { username: podGarbageCollector },
    object: { ...(oldObject as Json), status: { phase: "Failed" } },
    options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1" },
    ...extra,
  });
}

/** The review of an eviction of the pod `name`; `eviction` overrides fields of the Eviction. */
export function evictReview(name: string, eviction: Json = {}, extra: Json = {}): Json {
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: "review-2",
      operation: "CREATE",
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      namespace: "ns",
      name,
      userInfo: { username: "admin" },
      object: { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: "ns", name }, ...eviction },
      oldObject: null,
      dryRun: false,
      ...extra,
    },
  };
}
