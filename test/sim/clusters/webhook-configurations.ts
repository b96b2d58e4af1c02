/** What API servers of a world are told to ask before they carry something out. */
import { type JsonObject } from "../../double/engine/object.ts";
import { webhookName } from "../network/reviews.ts";

/** The API server waits at most that long for the webhook, so that an admission has time for a few conflicts. */
const webhookTimeoutSeconds = 10;
export const policyName = "bystanders.example.com";

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

export function webhookConfiguration(cell: string): JsonObject {
  const pods = { apiGroups: [""], apiVersions: ["v1"], scope: "Namespaced" };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "podseidon" },
    webhooks: [webhookName, "policies.example.com"].map((name) => ({
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
