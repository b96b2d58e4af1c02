/** The objects that cases create. */
import { type Labels } from "./thing.ts";

export const podProtectorApi = "podseidon.kubewharf.io/v1alpha1";

interface PodOptions {
  readonly labels?: Labels;
  readonly nodeName?: string;
  readonly finalizers?: readonly string[];
  readonly spec?: object;
}

const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
const selector = { matchLabels: { app: "web" } };

export const bodies = {
  namespace: (name: string, labels: Labels = {}) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels },
  }),

  configMap: (name: string, data: Labels = {}, metadata: object = {}) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
    data,
  }),

  pod: (name: string, { labels = { app: "web" }, nodeName, finalizers, spec = {} }: PodOptions = {}) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, ...(finalizers === undefined ? {} : { finalizers }) },
    spec: {
      containers: [{ name: "main", image: "web:1" }],
      ...(nodeName === undefined ? {} : { nodeName }),
      ...spec,
    },
  }),

  deployment: (name: string, spec: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { selector, template, ...spec },
  }),

  replicaSet: (name: string, spec: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name },
    spec: { selector, template, ...spec },
  }),

  statefulSet: (name: string, spec: object = {}) => ({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: { serviceName: name, selector, template, ...spec },
  }),

  lease: (name: string, spec: object = {}) => ({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name },
    spec,
  }),

  budget: (name: string, spec: object = {}) => ({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable: 1, selector, ...spec },
  }),

  podProtector: (name: string, spec: object = {}) => ({
    apiVersion: podProtectorApi,
    kind: "PodProtector",
    metadata: { name },
    spec: { minAvailable: 1, minReadySeconds: 0, selector, ...spec },
  }),

  event: (name: string, involvedObject: object, more: object = {}) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name },
    involvedObject,
    reason: "Refused",
    message: "a deletion was refused",
    type: "Warning",
    ...more,
  }),
};

/** The status of a podProtector with one cell. */
export function cellStatus(cellID: string, more: object = {}): object {
  return {
    cells: [{ cellID, ...more }],
    summary: { totalReplicas: 1, aggregatedAvailableReplicas: 1, estimatedAvailableReplicas: 1 },
  };
}
