/**
 * A review as an API server sends it, 3 to 4 kB: the deletion of a pod with managed fields, one container with
 * settings, its conditions.
 */
import { deleteReview, pod } from "../../unit/webhook/support/objects.ts";

const at = "2026-01-02T03:04:05Z";

/** Of a pod in the namespace ns that nobody else in this run has: `name` is in its UID too. */
export function deletionReview(name: string, app: string): object {
  const known = pod(name, { labels: { app, "pod-template-hash": "5d4f8c7b9d" } });
  const paths = (names: readonly string[]): object => Object.fromEntries(names.map((one) => [`f:${one}`, {}]));
  const managedFields = [
    { manager: "kube-controller-manager", fieldsV1: { "f:spec": paths(["affinity", "containers", "dnsPolicy"]) } },
    { manager: "kubelet", fieldsV1: { "f:status": paths(["conditions", "hostIP", "phase", "podIP", "startTime"]) } },
  ].map((entry) => ({ ...entry, operation: "Update", apiVersion: "v1", time: at, fieldsType: "FieldsV1" }));
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-5d4f8c7b9d`, uid: "u" }];
  const probe = { httpGet: { path: "/healthz", port: 8080, scheme: "HTTP" }, periodSeconds: 10, failureThreshold: 3 };
  const env = Array.from({ length: 14 }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `value ${index} of the app`,
  }));
  const container = {
    name: "main",
    image: "images.example.com/shop/web:v1.2.3",
    env,
    resources: { limits: { cpu: "2", memory: "4Gi" }, requests: { cpu: "1", memory: "2Gi" } },
    livenessProbe: probe,
    readinessProbe: probe,
    volumeMounts: [
      { name: "kube-api-access", readOnly: true, mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
    ],
  };
  const toleration = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 };
  const spec = {
    nodeName: "node-0123.example.internal",
    serviceAccountName: "web",
    restartPolicy: "Always",
    containers: [container],
    tolerations: ["not-ready", "unreachable"].map((key) => ({ key: `node.kubernetes.io/${key}`, ...toleration })),
  };
  const metadata = { ...(known["metadata"] as object), creationTimestamp: at, ownerReferences, managedFields };
  const containerStatus = { name: "main", ready: true, restartCount: 0, state: { running: { startedAt: at } } };
  const status = {
    ...(known["status"] as object),
    hostIP: "10.0.0.1",
    podIP: "10.1.0.1",
    containerStatuses: [containerStatus],
  };
  const groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"];
  const username = "system:serviceaccount:kube-system:replicaset-controller";
  return deleteReview(
    { ...known, metadata, spec, status },
    {
      uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
      kind: { group: "", version: "v1", kind: "Pod" },
      requestKind: { group: "", version: "v1", kind: "Pod" },
      requestResource: { group: "", version: "v1", resource: "pods" },
      userInfo: { username, uid: "e1b7a2c4-9d3f-4a5b-8c6d-7e8f9a0b1c2d", groups },
    },
  );
}

const placeholder = "NAME-OF-THE-POD";

/**
 * Texts of `deletionReview` for pods of one app, made by replacing the name: making and encoding each would cost more
 * than its review.
 */
export function reviewTexts(app: string): (name: string) => string {
  const text = JSON.stringify(deletionReview(placeholder, app));
  return (name) => text.replaceAll(placeholder, name);
}
