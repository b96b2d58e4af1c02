/**
 * A pod of usual size in JSON and in protobuf, as bytes in which only the digits of its number change: a server can
 * then send as fast as a list is read.
 */
import { envelope, field, frame, message, pod, watchEvent } from "../../unit/kube/protobuf/writer.ts";

export type Encoding = "json" | "protobuf";

/** What differs between the pods of a template: texts with marks in them, all of the same length. */
export interface PodShape {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Of an event; default ADDED. */
  readonly eventType?: "ADDED" | "MODIFIED" | "DELETED";
}

/** A text that stands for digits: as many as it is long. */
export interface Mark {
  readonly text: string;
  /** From the number that `fill` counts up. */
  readonly numberOf: (index: number) => number;
}

export interface Template {
  readonly bytes: Buffer;
  /** Where the digits stand. */
  readonly places: readonly { readonly offset: number; readonly mark: Mark }[];
}

const managedPaths = 40;
const environmentVariables = 14;

/** The number of the pod. */
const podMark: Mark = { text: "@".repeat(6), numberOf: (index) => index };

/** What a list holds of a pod, or a whole event of a watch. */
export function createTemplate(
  encoding: Encoding,
  as: "item" | "event",
  shape: PodShape = webPod,
  marks: readonly Mark[] = [podMark],
): Template {
  const bytes = encoding === "json" ? jsonOf(as, shape) : protobufOf(as, shape);
  const places: Template["places"][number][] = [];
  for (const mark of marks) {
    const { text } = mark;
    for (let offset = bytes.indexOf(text); offset >= 0; offset = bytes.indexOf(text, offset + text.length))
      places.push({ offset, mark });
  }
  return { bytes, places };
}

/** `count` pods one behind the other, numbered from `first`. */
export function fill({ bytes, places }: Template, first: number, count: number): Buffer {
  const filled = Buffer.allocUnsafe(bytes.length * count);
  for (let index = 0; index < count; index += 1) {
    const start = index * bytes.length;
    bytes.copy(filled, start);
    for (const { offset, mark } of places) {
      const number = String(mark.numberOf(first + index)).padStart(mark.text.length, "0");
      filled.write(number, start + offset, "latin1");
    }
  }
  return filled;
}

const webPod: PodShape = {
  namespace: "shop",
  name: `web-5d4f8c7b9d-${podMark.text}`,
  uid: `0a1b2c3d-4e5f-6071-8293-a4b5c6${podMark.text}`,
  version: `1${podMark.text}`,
  labels: { app: "web", "pod-template-hash": "5d4f8c7b9d", tier: "frontend", zone: "z1" },
};
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

function jsonOf(as: "item" | "event", { namespace, name, uid, version, labels, eventType }: PodShape): Buffer {
  const object = {
    metadata: {
      name,
      generateName: "web-5d4f8c7b9d-",
      namespace,
      uid,
      resourceVersion: version,
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
  return Buffer.from(`${JSON.stringify({ type: eventType ?? "ADDED", object: typed })}\n`);
}

function protobufOf(as: "item" | "event", { eventType, ...shape }: PodShape): Buffer {
  const object = pod({
    ...shape,
    annotations,
    managers,
    managedFieldsV1,
    conditionTypes,
    spec: asMessage(spec),
  });
  return as === "item" ? field(2, object) : frame(watchEvent(eventType ?? "ADDED", envelope("Pod", object)));
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
