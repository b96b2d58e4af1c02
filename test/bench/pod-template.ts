/**
 * A pod of usual size in JSON and in protobuf, as bytes in which only the digits of its number change: a server can
 * then send as fast as a list is read.
 */
import { envelope, field, frame, message, pod, watchEvent } from "../unit/kube/protobuf/writer.ts";

export type Encoding = "json" | "protobuf";

export interface Template {
  readonly bytes: Buffer;
  /** Where the number stands. */
  readonly offsets: readonly number[];
}

const digits = 6;
const placeholder = "@".repeat(digits);
const managedPaths = 40;
const environmentVariables = 14;

/** What a list holds of a pod, or a whole event of a watch. */
export function createTemplate(encoding: Encoding, as: "item" | "event"): Template {
  const bytes = encoding === "json" ? jsonOf(as) : protobufOf(as);
  const offsets: number[] = [];
  for (let at = bytes.indexOf(placeholder); at >= 0; at = bytes.indexOf(placeholder, at + digits)) offsets.push(at);
  return { bytes, offsets };
}

/** `count` pods one behind the other, numbered from `first`. */
export function fill({ bytes, offsets }: Template, first: number, count: number): Buffer {
  const filled = Buffer.allocUnsafe(bytes.length * count);
  for (let index = 0; index < count; index += 1) {
    const start = index * bytes.length;
    bytes.copy(filled, start);
    const number = String(first + index).padStart(digits, "0");
    for (const offset of offsets) filled.write(number, start + offset, "latin1");
  }
  return filled;
}

const labels = { app: "web", "pod-template-hash": "5d4f8c7b9d", tier: "frontend", zone: "z1" };
const annotations = {
  "example.com/checksum": "0123456789abcdef".repeat(4),
  "example.com/config": "some settings of a sidecar ".repeat(12),
};
/** fieldsV1 is JSON in both encodings. */
const managedFieldsV1 = JSON.stringify({
  "f:spec": Object.fromEntries(Array.from({ length: managedPaths }, (_, index) => [`f:setting${index}`, {}])),
});
const spec = {
  nodeName: "node-0123.example.internal",
  serviceAccountName: "web",
  containers: [
    {
      name: "main",
      image: "images.example.com/shop/web:v1.2.3",
      env: Array.from({ length: environmentVariables }, (_, index) => ({
        name: `SETTING_OF_THE_APPLICATION_${index}`,
        value: `value ${index} ${"x".repeat(60)}`,
      })),
      resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "2Gi" } },
      livenessProbe: { path: "/livez", port: 8080, periodSeconds: 10, failureThreshold: 3 },
      readinessProbe: { path: "/readyz", port: 8080, periodSeconds: 10, failureThreshold: 3 },
    },
  ],
  volumes: Array.from({ length: 3 }, (_, index) => ({
    name: `volume-${index}`,
    configMap: { name: `settings-${index}` },
  })),
  tolerations: [
    { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 },
  ],
};
const managers = ["kube-controller-manager", "kubelet", "kube-scheduler"];
const conditionTypes = ["PodScheduled", "Initialized", "ContainersReady", "Ready", "PodReadyToStartContainers"];
const at = "2026-01-02T03:04:05Z";

function jsonOf(as: "item" | "event"): Buffer {
  const object = {
    metadata: {
      name: `web-5d4f8c7b9d-${placeholder}`,
      generateName: "web-5d4f8c7b9d-",
      namespace: "shop",
      uid: `0a1b2c3d-4e5f-6071-8293-a4b5c6${placeholder}`,
      resourceVersion: `1${placeholder}`,
      creationTimestamp: at,
      labels,
      annotations,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5d4f8c7b9d", uid: "u" }],
      managedFields: managers.map((manager) => ({
        manager,
        operation: "Update",
        apiVersion: "v1",
        time: at,
        fieldsType: "FieldsV1",
        fieldsV1: JSON.parse(managedFieldsV1) as unknown,
      })),
    },
    spec,
    status: {
      phase: "Running",
      conditions: conditionTypes.map((type) => ({ type, status: "True", lastProbeTime: null, lastTransitionTime: at })),
      podIP: "10.0.0.1",
      startTime: at,
    },
  };
  if (as === "item") return Buffer.from(`${JSON.stringify(object)},`);
  const typed = { kind: "Pod", apiVersion: "v1", ...object };
  return Buffer.from(`${JSON.stringify({ type: "ADDED", object: typed })}\n`);
}

function protobufOf(as: "item" | "event"): Buffer {
  const object = pod({
    name: `web-5d4f8c7b9d-${placeholder}`,
    namespace: "shop",
    uid: `0a1b2c3d-4e5f-6071-8293-a4b5c6${placeholder}`,
    version: `1${placeholder}`,
    labels,
    annotations,
    managers,
    managedFieldsV1,
    conditionTypes,
    spec: asMessage(spec),
  });
  return as === "item" ? field(2, object) : frame(watchEvent("ADDED", envelope("Pod", object)));
}

/**
 * As many bytes as the real message has: which numbers its fields bear does not matter to a reader that passes over
 * them.
 */
function asMessage(object: object): Buffer {
  const fields = Object.values(object).flatMap((value: unknown, index) =>
    (Array.isArray(value) ? (value as unknown[]) : [value]).map((one) =>
      field(index + 1, typeof one === "object" && one !== null ? asMessage(one) : (one as string | number)),
    ),
  );
  return message(...fields);
}
