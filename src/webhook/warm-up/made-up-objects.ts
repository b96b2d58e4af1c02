/**
 * PodProtectors and reviews of the kinds that a webhook meets: quota that is there, a floor that is reached, shadow,
 * pods that nobody protects, evictions, dry runs, forced deletions.
 */
import { type Json } from "../../api/json.ts";
import { annotations, finalizer, sourceLabels } from "../../api/v1alpha1/names.ts";
import { type MadeUpProtector } from "./made-up-core.ts";

/** The cell of all reviews. */
export const madeUpCell = "made-up";

const namespace = "made-up";
/** Replaced by the name of each pod, in its UID too. */
const placeholder = "NAME-OF-THE-POD";
const at = "2026-01-01T00:00:00Z";

/** The app of pods that nobody protects. */
const unprotected = "unprotected";

/** In the order of the reviews: two of three in a fleet are of pods that nobody protects. */
const turns: readonly Json[] = [
  deletion("plenty"),
  deletion(unprotected),
  deletion("at-floor"),
  deletion("plenty-2"),
  deletion(unprotected),
  eviction("plenty"),
  deletion("shadow"),
  deletion("plenty", { dryRun: true }),
  deletion(unprotected),
  deletion("plenty-2", { options: { gracePeriodSeconds: 0 } }),
  eviction("at-floor"),
];

export function madeUpProtectors(): readonly MadeUpProtector[] {
  return [
    protector("plenty", 100, {}),
    protector("plenty-2", 100, {}),
    protector("at-floor", 200, {}),
    protector("shadow", 200, { [annotations.mode]: "shadow" }),
  ];
}

/** The bodies of reviews by their number; each is of another pod. */
export function madeUpReviews(): (index: number) => string {
  const texts = turns.map((turn) => JSON.stringify(turn));
  return (index) => texts[index % texts.length]!.replaceAll(placeholder, `pod-${index}`);
}

/** 200 pods are available, of which `minAvailable` must stay. */
function protector(name: string, minAvailable: number, marks: Json): MadeUpProtector {
  const counts = {
    totalReplicas: 200,
    availableReplicas: 200,
    readyReplicas: 200,
    scheduledReplicas: 200,
    runningReplicas: 200,
    initializedReplicas: 200,
  };
  const metadata = {
    namespace,
    name,
    uid: `uid-of-${name}`,
    annotations: marks,
    labels: { [sourceLabels.group]: "apps", [sourceLabels.kind]: "Deployment", [sourceLabels.name]: name },
    finalizers: [finalizer],
  };
  return {
    metadata,
    spec: { minAvailable, minReadySeconds: 0, selector: { matchLabels: { app: name } } },
    status: {
      cells: [
        {
          cellID: madeUpCell,
          aggregation: { ...counts, lastEventTime: "2026-01-01T00:00:00.000000Z", resourceVersion: "1" },
        },
      ],
      summary: { totalReplicas: 200, aggregatedAvailableReplicas: 200, estimatedAvailableReplicas: 200 },
    },
  };
}

function deletion(app: string, extra: Json = {}): Json {
  return review({
    operation: "DELETE",
    userInfo: {
      username: "system:serviceaccount:kube-system:replicaset-controller",
      groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    },
    object: null,
    oldObject: pod(app),
    options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" },
    ...extra,
  });
}

function eviction(app: string): Json {
  return review({
    operation: "CREATE",
    subResource: "eviction",
    userInfo: { username: "system:node-drainer", groups: ["system:authenticated"] },
    object: { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name: placeholder } },
    oldObject: pod(app),
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
  });
}

function review(request: Json): Json {
  return {
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: `review-of-${placeholder}`,
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      name: placeholder,
      namespace,
      dryRun: false,
      ...request,
    },
  };
}

/** As large as a pod of one container usually is. */
function pod(app: string): Json {
  const container = {
    name: "main",
    image: "images.example.com/shop/web:v1.2.3",
    env: Array.from({ length: 14 }, (_, index) => ({ name: `SETTING_${index}`, value: `value ${index} of the app` })),
    resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "2Gi" } },
    livenessProbe: { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10 },
  };
  const fields = { "f:spec": { "f:containers": {}, "f:dnsPolicy": {} }, "f:status": { "f:conditions": {} } };
  const managedFields = ["kube-controller-manager", "kubelet"].map((manager) => ({
    manager,
    operation: "Update",
    apiVersion: "v1",
    time: at,
    fieldsType: "FieldsV1",
    fieldsV1: fields,
  }));
  const conditions = ["PodScheduled", "Initialized", "Ready"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: at,
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      namespace,
      name: placeholder,
      uid: `uid-of-${placeholder}`,
      resourceVersion: "1",
      creationTimestamp: at,
      labels: { app, "pod-template-hash": "5d4f8c7b9d" },
      ownerReferences: [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-5d4f8c7b9d`, uid: "u", controller: true },
      ],
      managedFields,
    },
    spec: { nodeName: "node-1", serviceAccountName: "web", restartPolicy: "Always", containers: [container] },
    status: {
      phase: "Running",
      conditions,
      podIP: "10.1.0.1",
      containerStatuses: [{ name: "main", ready: true, restartCount: 0, state: { running: { startedAt: at } } }],
    },
  };
}
