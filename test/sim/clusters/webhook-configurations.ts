/** What API servers of a world are told to ask before they carry something out. */
import { asObject, type JsonObject } from "../../double/engine/object.ts";

/** The API server waits at most that long for the webhook, so that an admission has time for a few conflicts. */
const webhookTimeoutSeconds = 10;
export const policyName = "bystanders.example.com";
/** Another policy, which is asked whatever ours is asked. */
export const othersName = "policies.example.com";

/** Somebody's policy for updates of these resources. */
export function policyOf(resources: readonly string[]): JsonObject {
  const rule = { apiGroups: ["*"], apiVersions: ["*"], scope: "Namespaced", operations: ["UPDATE"], resources };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: policyName },
    webhooks: [
      {
        name: policyName,
        clientConfig: { url: `https://${policyName}` },
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Fail",
        rules: [rule],
      },
    ],
  };
}

const pods = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };

/**
 * The entry for pod garbage collection of manifests/base/admission. Its conditions are `isAskedAbout`: the double
 * evaluates none.
 */
const collectionName = "pod-garbage-collection.podseidon.kubewharf.io";
export const podGarbageCollector = "system:serviceaccount:kube-system:pod-garbage-collector";

/** Asks about the ends of pods by pod garbage collection, beside the configuration below. */
export function collectionConfiguration(cell: string): JsonObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "podseidon-pod-garbage-collection" },
    webhooks: [
      {
        name: collectionName,
        clientConfig: { url: `https://webhook/${cell}` },
        admissionReviewVersions: ["v1"],
        sideEffects: "NoneOnDryRun",
        failurePolicy: "Ignore",
        timeoutSeconds: webhookTimeoutSeconds,
        rules: [{ ...pods, operations: ["UPDATE"], resources: ["pods/status"] }],
      },
    ],
  };
}

/** Whether the conditions of the entry let the review pass to the webhook. */
export function isAskedAbout(webhook: JsonObject, review: JsonObject): boolean {
  if (webhook["name"] !== collectionName) return true;
  const { userInfo, object, oldObject } = asObject(review["request"]);
  const hasFinished = (pod: unknown): boolean =>
    ["Failed", "Succeeded"].includes(String(asObject(asObject(pod)["status"])["phase"]));
  if (asObject(userInfo)["username"] !== podGarbageCollector || !hasFinished(object)) return false;
  return !hasFinished(oldObject) && asObject(asObject(oldObject)["metadata"])["deletionTimestamp"] === undefined;
}

/** `cell`: what the URL ends with. */
export function webhookConfiguration(cell: string): JsonObject {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "podseidon" },
    webhooks: ["pods.podseidon.kubewharf.io", othersName].map((name) => ({
      name,
      clientConfig: { url: `https://webhook/${cell}` },
      admissionReviewVersions: ["v1"],
      sideEffects: "NoneOnDryRun",
      failurePolicy: "Fail",
      timeoutSeconds: webhookTimeoutSeconds,
      rules: [
        { ...pods, operations: ["DELETE"], resources: ["pods"] },
        { ...pods, operations: ["CREATE"], resources: ["pods/eviction"] },
      ],
    })),
  };
}
