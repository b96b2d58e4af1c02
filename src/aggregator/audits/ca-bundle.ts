/**
 * Keeps the caBundle of the worker's ValidatingWebhookConfiguration equal to what the core publishes, so that API
 * servers trust the next authority of the webhook long before it signs (docs/webhook.md#built-in). Nothing else of the
 * object changes.
 */
import { asList, asObject, fieldsOf } from "../../api/json.ts";
import {
  type AdmissionregistrationV1WebhookClientConfig,
  type V1ObjectMeta,
  type V1ValidatingWebhook,
  type V1ValidatingWebhookConfiguration,
} from "../../api/models.ts";
import { readData, trustedConfigMap } from "../../certificates/objects.ts";
import { isKubeError, type KubeClient, KubeError, resourcePath } from "../../kube/kube-client.ts";
import { validatingWebhookConfigurations } from "../../kube/resources.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { messageOf } from "../../util/printable.ts";
import { type Logger } from "../../util/logger.ts";
import { type Gauge, type Metrics } from "../../util/metrics.ts";
import { readCertificates } from "../../util/pem-certificates.ts";

/** Two small reads of the leader of a cell. A webhook that is installed is trusted after so long. */
const pollMs = 10_000;
const timeoutMs = 10_000;

export interface CaBundleOptions {
  readonly worker: KubeClient;
  /** Each publishes the authorities of its own webhook, or nothing. */
  readonly cores: readonly { readonly name: string; readonly client: KubeClient }[];
  /** Of the ConfigMap in each core. */
  readonly namespace: string;
  /** Name of the ValidatingWebhookConfiguration. */
  readonly configuration: string;
  /** For Events, in each core. */
  readonly event: (type: "Warning", reason: string, message: string) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export class CaBundle {
  readonly #options: CaBundleOptions;
  readonly #problem: Gauge;
  #told = "";

  constructor(options: CaBundleOptions) {
    this.#options = options;
    this.#problem = options.metrics.gauge(
      "aggregator_ca_bundle_problem",
      "1 while the caBundle of this cell cannot be kept as the core publishes it, else 0",
    );
  }

  /** Until the signal aborts, which ends a term. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let problem: string | undefined;
      try {
        await this.#pass(signal);
      } catch (error) {
        if (!isKubeError(error)) throw error;
        problem = isKubeError(error, "conflict", "aborted") ? undefined : messageOf(error);
      }
      if (!signal.aborted) this.#tell(problem);
      await sleep(this.#options.clock, pollMs, signal);
    }
    this.#problem.set({}, 0);
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { worker, configuration, logger } = this.#options;
    const published = await this.#published(signal);
    const path = resourcePath(validatingWebhookConfigurations, { name: configuration });
    const answer = await worker.request({ method: "GET", path, timeoutMs, signal });
    const read = fieldsOf<V1ValidatingWebhookConfiguration>(answer);
    const wanted = Buffer.from(published).toString("base64");
    const entries = asList(read.webhooks).map((entry) => fieldsOf<V1ValidatingWebhook>(entry));
    const operations = entries.flatMap((entry, index) => {
      const client = asObject<AdmissionregistrationV1WebhookClientConfig>(entry.clientConfig);
      if (client === undefined || client.caBundle === wanted) return [];
      const at = `/webhooks/${index}`;
      return [
        // The entry that was read, and no other one.
        { op: "test", path: `${at}/name`, value: entry.name },
        { op: "add", path: `${at}/clientConfig/caBundle`, value: wanted },
      ];
    });
    if (operations.length === 0) return;
    const { resourceVersion } = fieldsOf<V1ObjectMeta>(read.metadata);
    const version = { op: "test", path: "/metadata/resourceVersion", value: resourceVersion };
    const contentType = "application/json-patch+json";
    await worker.request({ method: "PATCH", path, contentType, body: [version, ...operations], timeoutMs, signal });
    logger.info("Set the caBundle to the authorities that the core publishes", { configuration });
  }

  /** PEM of all cores. One that cannot be read ends the pass: without its authorities its webhook would be cut off. */
  async #published(signal: AbortSignal): Promise<string> {
    const { cores, namespace } = this.#options;
    const bundles = await Promise.all(
      cores.map(async ({ name, client }) => {
        const { data } = await readData({ client, namespace }, trustedConfigMap, signal);
        return checkBundle(data["ca.crt"] ?? "", `the ConfigMap ${namespace}/${trustedConfigMap.name} of core ${name}`);
      }),
    );
    return Array.from(new Set(bundles)).join("");
  }

  #tell(problem: string | undefined): void {
    const { event, logger, configuration } = this.#options;
    this.#problem.set({}, problem === undefined ? 0 : 1);
    if (problem === undefined) {
      if (this.#told !== "") logger.info("The caBundle is as the core publishes it again", { configuration });
    } else {
      if (problem !== this.#told) logger.error("Cannot keep the caBundle", { configuration, problem });
      event("Warning", "CaBundleNotKept", `Cannot keep the caBundle of ${configuration}: ${problem}`);
    }
    this.#told = problem ?? "";
  }
}

/** An API server that is given an empty or broken bundle calls no webhook any more. */
function checkBundle(pem: string, source: string): string {
  let count = 0;
  try {
    count = readCertificates(pem).length;
  } catch (error) {
    throw new KubeError("malformed", `${source} is broken: ${messageOf(error)}`, { cause: error });
  }
  if (count === 0) throw new KubeError("malformed", `${source} has no authority yet`);
  return pem;
}
