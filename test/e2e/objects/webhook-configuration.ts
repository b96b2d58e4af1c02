/** ValidatingWebhookConfigurations of single cases: that of manifests/, for one namespace and one URL. */
import { type Manifest, onlyOne, render } from "../../manifests/manifest-files.ts";
import { type AdminClient, ApiError } from "../clusters/admin-client.ts";
import { podPath } from "./pods.ts";
import { waitFor } from "../clusters/wait.ts";

export interface WebhookConfigurationOptions {
  /** Name of the object and first label of the webhook's own name. */
  readonly name: string;
  /** `https://127.0.0.1:<port>/<cell>`. */
  readonly url: string;
  readonly caPem: string;
  /** The only namespace that is sent to the webhook, but for these. */
  readonly namespace: string;
  readonly furtherNamespaces?: readonly string[];
  /** Of the first entry. Default: that of the manifests, Fail. */
  readonly failurePolicy?: "Fail" | "Ignore";
  /** Default: that of the manifests, 10. */
  readonly timeoutSeconds?: number;
}

interface Configuration extends Manifest {
  readonly webhooks: readonly { readonly namespaceSelector: { readonly matchExpressions: readonly object[] } }[];
}

const resource = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/** API servers learn of a configuration through a watch, usually within a second. */
const inForceLimitMs = 30_000;

/** Creates or replaces the configuration. It takes a moment until it is in force: see `waitUntilInForce`. */
export async function applyWebhookConfiguration(
  admin: AdminClient,
  options: WebhookConfigurationOptions,
): Promise<void> {
  const manifests = render("base/admission");
  const { apiVersion, kind, webhooks } = onlyOne<Configuration>(manifests, "ValidatingWebhookConfiguration");
  await admin.apply(`${resource}/${options.name}`, {
    apiVersion,
    kind,
    metadata: { name: options.name },
    webhooks: webhooks.map((webhook, index) => ({
      ...webhook,
      name: index === 0 ? webhookName(options.name) : `entry-${index}.${webhookName(options.name)}`,
      clientConfig: { url: options.url, caBundle: Buffer.from(options.caPem).toString("base64") },
      namespaceSelector: {
        matchExpressions: [
          ...webhook.namespaceSelector.matchExpressions,
          {
            key: "kubernetes.io/metadata.name",
            operator: "In",
            values: [options.namespace, ...(options.furtherNamespaces ?? [])],
          },
        ],
      },
      ...(options.failurePolicy === undefined || index > 0 ? {} : { failurePolicy: options.failurePolicy }),
      ...(options.timeoutSeconds === undefined ? {} : { timeoutSeconds: options.timeoutSeconds }),
    })),
  });
}

export async function removeWebhookConfiguration(admin: AdminClient, name: string): Promise<void> {
  await admin.remove(`${resource}/${name}`);
}

/** Deletes `podName` with dry-run until the API server's metrics say that it called the webhook. */
export async function waitUntilInForce(
  admin: AdminClient,
  name: string,
  namespace: string,
  podName: string,
): Promise<void> {
  await waitFor(`webhook configuration ${name} is in force`, inForceLimitMs, async () => {
    const path = podPath(namespace, podName);
    const { code, body } = await admin.request("DELETE", path, { query: { dryRun: "All" } });
    if (code === 404) throw new ApiError("DELETE", path, code, body);
    const metrics = await admin.get<string>("/metrics");
    return (
      metrics.includes(`apiserver_admission_webhook_request_total{`) && metrics.includes(`name="${webhookName(name)}"`)
    );
  });
}

function webhookName(name: string): string {
  return `${name}.e2e.podseidon.kubewharf.io`;
}
