/** The workloads of the everyday rows, as people write them. */
import { workloadLabel } from "./recorder.ts";

export interface WorkloadSpec {
  readonly kind: "deployments" | "statefulsets";
  readonly name: string;
  readonly replicas: number;
  /** Of the rolling update of a Deployment; default: Kubernetes' own, 25 % of each. */
  readonly strategy?: { readonly maxUnavailable: number | string; readonly maxSurge: number | string };
  /** Where the pods are; absent = where the scheduler puts them. */
  readonly nodeName?: string;
}

const kindNames = { deployments: "Deployment", statefulsets: "StatefulSet" } as const;

export function workloadManifest(workload: WorkloadSpec): object {
  const { kind, name, replicas, strategy, nodeName } = workload;
  const labels = { [workloadLabel]: name };
  return {
    apiVersion: "apps/v1",
    kind: kindNames[kind],
    metadata: { name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...(kind === "statefulsets" && { serviceName: name, podManagementPolicy: "Parallel" }),
      ...(strategy !== undefined && { strategy: { type: "RollingUpdate", rollingUpdate: strategy } }),
      template: {
        metadata: { labels: { ...labels, everyday: "yes" } },
        spec: { ...(nodeName !== undefined && { nodeName }), containers: [{ name: "main", image: "none" }] },
      },
    },
  };
}

/** A budget that leaves the workload the same floor. */
export function budgetManifest(workload: WorkloadSpec, floor: number): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: workload.name },
    spec: { minAvailable: floor, selector: { matchLabels: { [workloadLabel]: workload.name } } },
  };
}
