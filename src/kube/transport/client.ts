/** The KubeClient over HTTP: deadlines, safe retries and decoding around sender.ts. */
import { assert } from "../../util/assert.ts";
import { type CertificateUses } from "../../util/certificate-use.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Metrics } from "../../util/metrics.ts";
import { type Rng, uniform } from "../../util/rng.ts";
import { isKubeError, type KubeClient, type KubeError, type KubeRequest } from "../kube-client.ts";
import { isProtobuf } from "../protobuf/index.ts";
import { decodeAnswer, readStream } from "./answer.ts";
import { createClientMetrics, type ClientMetrics } from "./client-metrics.ts";
import { type ClusterConfig } from "../../config/clusters.ts";
import { type CreateDispatchers } from "./connections.ts";
import { createCredentialSource } from "./credentials.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import { type Environment } from "./exec-plugin.ts";
import { createSender, nameOf, type Sender } from "./sender.ts";

export interface KubeClientDeps {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Where a pod finds its API server, and what exec plugins inherit. Default: no variables. */
  readonly environment?: Environment;
  /** Default: sockets. */
  readonly dispatchers?: CreateDispatchers;
  /** Told which client certificate is in use. */
  readonly certificates?: CertificateUses | undefined;
}

/**
 * Longer than any write that etcd is expected to finish, and shorter than the API server's own limits of 34 s and 60 s.
 */
const timeoutMsDefault = 30_000;
/** After the server said "later" twice, the caller's own backoff decides. */
const busyRetriesMax = 2;
/** One closed keep-alive connection is normal; two in a row mean that the server is down. */
const networkRetriesMax = 1;
/** So that not all clients come back in the same millisecond. */
const retryJitterMs = 250;

/**
 * Connects to the cluster of `config`; `cluster` names it in logs. Sends nothing yet. Throws a StartError of one line
 * when a kubeconfig, certificate, key or token cannot be used.
 */
export async function createKubeClient(
  config: ClusterConfig,
  deps: KubeClientDeps,
  cluster: string,
): Promise<KubeClient> {
  const { clock } = deps;
  const logger = deps.logger.with({ cluster });
  const source = await createCredentialSource(config, {
    ...deps,
    logger,
    onClientCertificate: (pem) => deps.certificates?.inUse(`kubeconfig of ${cluster}`, pem),
  });
  const { host } = new URL((await source.current()).server);
  const metrics = createClientMetrics(deps.metrics, host);
  const sender = createSender(config, { ...deps, logger }, source, metrics);
  return {
    cluster,
    async request(request) {
      const deadline = createDeadline(clock, request.timeoutMs ?? timeoutMsDefault, nameOf(request), request.signal);
      try {
        return await requestWithRetries(request, deadline, sender, metrics, deps);
      } finally {
        deadline.clear();
      }
    },
    async stream(request, idleTimeoutMs) {
      const deadline = createDeadline(clock, request.timeoutMs ?? timeoutMsDefault, nameOf(request), request.signal);
      try {
        const { headers, stream } = await sender.send(request, deadline, true);
        assert(stream !== undefined, "a streaming request has a stream");
        deadline.extend(idleTimeoutMs);
        const chunks = readStream(stream, nameOf(request), deadline);
        return isProtobuf(headers["content-type"]) ? Object.assign(chunks, { encoding: "protobuf" as const }) : chunks;
      } catch (error) {
        deadline.clear();
        throw error;
      }
    },
    close: () => sender.destroy(),
  };
}

async function requestWithRetries(
  request: KubeRequest,
  deadline: Deadline,
  sender: Sender,
  metrics: ClientMetrics,
  { clock, rng }: KubeClientDeps,
): Promise<unknown> {
  const retries = { network: 0, busy: 0 };
  for (;;) {
    try {
      return decodeAnswer(nameOf(request), await sender.send(request, deadline, false), request.parse);
    } catch (error) {
      const delayMs = retryDelayMs(error, request, retries);
      if (delayMs === undefined) throw error;
      const jitteredMs = delayMs + uniform(rng, 0, retryJitterMs);
      if (jitteredMs >= deadline.remainingMs()) throw error;
      metrics.retried(request.method, (error as KubeError).code);
      await sleep(clock, jitteredMs, deadline.signal);
      const ended = deadline.error();
      if (ended !== undefined) throw ended;
    }
  }
}

/**
 * Milliseconds after which the request may safely be sent again, or undefined when it must not be. Counts in `retries`.
 */
function retryDelayMs(
  error: unknown,
  request: KubeRequest,
  retries: { network: number; busy: number },
): number | undefined {
  // A read changes nothing, so it does not matter whether the server got it. A write may have been executed.
  if (isKubeError(error, "network") && request.method === "GET") {
    return retries.network++ < networkRetriesMax ? 0 : undefined;
  }
  // With 429 the server says that it has not executed the request, whatever the verb.
  if (isKubeError(error, "tooManyRequests") && error.retryAfterMs !== undefined) {
    return retries.busy++ < busyRetriesMax ? error.retryAfterMs : undefined;
  }
  return undefined;
}
