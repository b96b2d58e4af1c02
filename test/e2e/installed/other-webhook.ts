/**
 * An admission webhook of somebody else, called beside Podseidon's: it sees every review and decides what the case
 * wants, when the case wants.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import { type Cluster } from "../clusters/cluster.ts";
import { type KubeObject } from "../clusters/admin-client.ts";
import { portOf } from "../clusters/ports.ts";
import { type CaseContext } from "../runner/runner.ts";
import { waitFor } from "../clusters/wait.ts";
import { applyWebhookConfiguration, removeWebhookConfiguration } from "../objects/webhook-configuration.ts";

export interface SeenReview {
  readonly podName: string;
  /** The version of the pod that the API server asks about. */
  readonly resourceVersion: string;
}

export interface OtherWebhook {
  /** In the order of arrival. */
  readonly reviews: readonly SeenReview[];
}

export interface OtherWebhookOptions {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly caPem: string };
  /** True admits; the API server waits for it up to 30 s. */
  readonly decide: (review: SeenReview) => Promise<boolean> | boolean;
  /** A pod of the namespace, to see that the webhook is called. */
  readonly podName: string;
}

/** The longest that Kubernetes permits. */
const timeoutSeconds = 30;

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly dryRun?: boolean; readonly oldObject: KubeObject };
}

/**
 * Resolves when the cluster calls it for each deletion of a pod in the namespace. It ends with the case. Dry runs are
 * admitted and not kept.
 */
export async function startOtherWebhook(context: CaseContext, options: OtherWebhookOptions): Promise<OtherWebhook> {
  const { cluster, namespace, tls, decide, podName } = options;
  const reviews: SeenReview[] = [];
  let dryRuns = 0;

  const answer = async ({ request }: Review): Promise<boolean> => {
    if (request.dryRun === true) {
      dryRuns++;
      return true;
    }
    const { name, resourceVersion } = request.oldObject.metadata;
    const review = { podName: name, resourceVersion };
    reviews.push(review);
    return decide(review);
  };
  const respond = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const review = (await json(message)) as Review;
    const allowed = await answer(review);
    const { uid } = review.request;
    const status = { message: "the other webhook says no" };
    const { apiVersion, kind } = review;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ apiVersion, kind, response: { uid, allowed, status } }));
  };
  const server = createServer(
    { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile) },
    (message, response) => void respond(message, response),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.cleanup(() => {
    server.close();
    server.closeAllConnections();
  });
  const name = `other-${namespace}`;
  const url = `https://127.0.0.1:${portOf(server)}/`;
  await applyWebhookConfiguration(cluster.admin, { name, url, caPem: tls.caPem, namespace, timeoutSeconds });
  context.cleanup(() => removeWebhookConfiguration(cluster.admin, name));
  await waitFor("the other webhook is called", 30_000, async () => {
    const path = `/api/v1/namespaces/${namespace}/pods/${podName}`;
    await cluster.admin.request("DELETE", path, { query: { dryRun: "All" } });
    return dryRuns > 0;
  });
  return { reviews };
}
