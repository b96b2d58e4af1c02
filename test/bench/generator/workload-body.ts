/** Workloads of usual size, some 4 kB, of which the generator needs a tenth. */
import { type JsonObject } from "../../double/index.ts";

const environmentVariables = 20;

export function workloadBody(
  kind: "Deployment" | "StatefulSet",
  namespace: string,
  name: string,
  replicas: number,
): JsonObject {
  const labels = { app: name };
  const container = {
    name: "main",
    image: `images.example.com/shop/${name}:v1.2.3`,
    env: Array.from({ length: environmentVariables }, (_, index) => ({
      name: `SETTING_OF_THE_APPLICATION_${index}`,
      value: `value ${index} ${"x".repeat(40)}`,
    })),
    resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "2Gi" } },
    readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 5 },
  };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: {
      name,
      namespace,
      labels: { ...labels, team: namespace },
      annotations: { "example.com/checksum": "0123456789abcdef".repeat(4) },
    },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      ...(kind === "StatefulSet" && { serviceName: name }),
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

/** As a controller writes it when a pod restarts. */
export function workloadStatus(replicas: number, round: number): JsonObject {
  const lastUpdateTime = new Date(round * 1000).toISOString();
  return {
    replicas,
    readyReplicas: replicas - (round % 2),
    availableReplicas: replicas - (round % 2),
    conditions: [{ type: "Available", status: "True", reason: "MinimumReplicasAvailable", lastUpdateTime }],
  };
}
