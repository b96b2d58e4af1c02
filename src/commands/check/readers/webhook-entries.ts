/** The entries of Podseidon's ValidatingWebhookConfigurations in a worker. */
import { addressOf, entriesOf, type WebhookEntry } from "../../../aggregator/audits/guarded-namespaces.ts";
import { asList, asObject, fieldsOf } from "../../../api/json.ts";
import {
  type AdmissionregistrationV1WebhookClientConfig,
  type Unchecked,
  type V1ObjectMeta,
  type V1RuleWithOperations,
  type V1ValidatingWebhook,
  type V1ValidatingWebhookConfiguration,
} from "../../../api/models.ts";
import { apiGroup } from "../../../api/v1alpha1/names.ts";
import { type KubeClient } from "../../../kube/kube-client.ts";
import { validatingWebhookConfigurations } from "../../../kube/resources.ts";
import { listAll } from "../../../kube/watch/index.ts";
import { type EntryFacts } from "../facts.ts";

/**
 * Entries of the manifests that let pass what they cannot ask about, on purpose: preemption, and pod garbage collection
 * (manifests/base/admission).
 */
const secondaryConditions: ReadonlySet<unknown> = new Set(["by-the-scheduler", "by-pod-garbage-collection"]);

/** Throws KubeError. */
export async function listEntries(worker: KubeClient, signal: AbortSignal): Promise<readonly EntryFacts[]> {
  const found: EntryFacts[] = [];
  await listAll(
    worker,
    { resource: validatingWebhookConfigurations },
    (raw) => {
      const configuration = fieldsOf<V1ValidatingWebhookConfiguration>(raw);
      if (isOurConfiguration(configuration)) found.push(...entriesOf(configuration).map(entryFacts));
    },
    { signal },
  );
  return found;
}

/** Our names of entries end with our domain; whoever has renamed them has kept the label, or points to our Service. */
export function isOurConfiguration({ metadata, webhooks }: Unchecked<V1ValidatingWebhookConfiguration>): boolean {
  const labels = fieldsOf(fieldsOf<V1ObjectMeta>(metadata).labels);
  const entries = asList(webhooks).map((entry) => fieldsOf<V1ValidatingWebhook>(entry));
  return (
    labels["app.kubernetes.io/name"] === "podseidon" || entries.some(({ name }) => String(name).endsWith(apiGroup))
  );
}

function entryFacts({ configuration, fields }: WebhookEntry): EntryFacts {
  const { name, failurePolicy, clientConfig, rules, objectSelector, matchConditions } = fields;
  const { service, caBundle } = fieldsOf<AdmissionregistrationV1WebhookClientConfig>(clientConfig);
  const url = addressOf(clientConfig);
  const asked = asList(rules).flatMap((rule) => ruleTexts(fieldsOf(rule)));
  const isSecondary = asList(matchConditions)
    .map(fieldsOf)
    .some((condition) => secondaryConditions.has(condition["name"]));
  return {
    configuration,
    fields,
    name: String(name),
    failurePolicy: typeof failurePolicy === "string" ? failurePolicy : "Fail",
    url,
    isService: asObject(service) !== undefined,
    cell: cellIn(url),
    caBundle: typeof caBundle === "string" ? Buffer.from(caBundle, "base64").toString("utf8") : "",
    rules: asked,
    hasObjectSelector: Object.values(fieldsOf(objectSelector)).some((part) => Object.keys(part ?? {}).length > 0),
    isMain: !isSecondary && asked.some((rule) => rule.startsWith("DELETE ") || rule.startsWith("CREATE ")),
  };
}

/** The last segment of the path. */
function cellIn(url: string): string {
  const path = /^[a-z]+:\/\/[^/]*(\/[^?#]*)?/i.exec(url)?.[1] ?? "/";
  return decoded(path.slice(path.lastIndexOf("/") + 1));
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function ruleTexts({ operations, resources }: Unchecked<V1RuleWithOperations>): readonly string[] {
  const [verbs, kinds] = [asList(operations).map(String), asList(resources).map(String)];
  const all = verbs.includes("*") ? ["CREATE", "UPDATE", "DELETE"] : verbs;
  return all.flatMap((verb) => kinds.flatMap(expanded).map((kind) => `${verb} ${kind}`));
}

function expanded(kind: string): readonly string[] {
  if (kind === "*") return ["pods"];
  return ["*/*", "pods/*"].includes(kind) ? ["pods", "pods/eviction"] : [kind];
}
