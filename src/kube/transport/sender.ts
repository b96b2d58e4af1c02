/** Sends one request and returns its 2xx header: rate limit, credentials with one refresh after a 401, JSON where protobuf is refused, classification of failures. */
import { type Dispatcher } from "undici";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { KubeError, type KubeRequest } from "../kube-client.ts";
import { mediaType } from "../protobuf/index.ts";
import { errorOfAnswer } from "./answer.ts";
import { readBytes } from "./body.ts";
import { type ClientMetrics } from "./client-metrics.ts";
import { type ClusterConfig } from "./cluster-config.ts";
import { createConnections } from "./connections.ts";
import { type CredentialSource, type Credentials, type HeaderValues } from "./credentials.ts";
import { type Deadline } from "./deadline.ts";
import { networkError } from "./kube-errors.ts";
import { createTokenBucket } from "./token-bucket.ts";

export interface Sender {
  /** Resolves with a 2xx header, its body unread. Throws KubeError. `streaming` = on a connection of its own. */
  send(request: KubeRequest, deadline: Deadline, streaming: boolean): Promise<Dispatcher.ResponseData>;
  destroy(): Promise<void>;
}

const jsonType = "application/json";
/** A server without protobuf for a resource (custom resources have none) answers in JSON. */
const eitherType = `${mediaType},${jsonType}`;
/** A Status with its causes. */
const errorBodyBytesMax = 64 * 1024;

export function createSender(
  config: ClusterConfig,
  deps: { readonly clock: Clock; readonly logger: Logger },
  source: CredentialSource,
  metrics: ClientMetrics,
): Sender {
  const { clock, logger } = deps;
  const connections = createConnections((err) => logger.warn("Cannot close old connections", { err }));
  const limitRate = createRateLimit(config, clock, metrics);
  /** Kept until this process ends: a server that learns protobuf later goes on with JSON, which is slower and otherwise the same. */
  let protobufRefused = false;

  async function attempt(
    request: KubeRequest,
    credentials: Credentials,
    deadline: Deadline,
    streaming: boolean,
    accept: string,
  ): Promise<Dispatcher.ResponseData> {
    // The emitter tells of what is still to come.
    const ended = deadline.error();
    if (ended !== undefined) throw ended;
    const { requests, streams, origin, pathPrefix } = connections.of(credentials);
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    try {
      const response = await (streaming ? streams : requests).request({
        origin,
        path: `${pathPrefix}${request.path}${queryText(request)}`,
        method: request.method,
        headers: headersOf(request, accept, config.userAgent, credentials.headers),
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal: deadline.emitter,
        // Otherwise undici closes the connection after each DELETE, because some servers do not expect its body.
        reset: false,
      });
      metrics.attempt(request.method, response.statusCode, seconds());
      return response;
    } catch (error) {
      metrics.attempt(request.method, undefined, seconds());
      throw deadline.error() ?? networkError(nameOf(request), error);
    }
  }

  return {
    async send(request, deadline, streaming) {
      await limitRate(request, deadline);
      for (let refreshed = false; ;) {
        const current = source.current();
        // An exec plugin may hang.
        const credentials = current instanceof Promise ? await deadline.race(current) : current;
        const protobuf = request.preferProtobuf === true && !protobufRefused;
        const response = await attempt(request, credentials, deadline, streaming, protobuf ? eitherType : jsonType);
        const { statusCode: code, headers } = response;
        if (code >= 200 && code < 300) return response;
        const body = await readBytes(response.body, errorBodyBytesMax, nameOf(request), deadline);
        const error = errorOfAnswer(nameOf(request), { code, headers, body });
        if (protobuf && isRefusalOfType(code)) {
          protobufRefused = true;
          logger.info("The server refuses protobuf, going on with JSON", { err: error });
        } else {
          if (error.kind !== "unauthorized" || refreshed) throw error;
          if (!(await deadline.race(source.refresh(credentials)))) throw error;
          refreshed = true;
        }
        metrics.retried(request.method, code);
      }
    },
    destroy: () => connections.destroy(),
  };
}

/** Resolves when the request may go out; throws KubeError when that is not in time. */
function createRateLimit(
  config: ClusterConfig,
  clock: Clock,
  metrics: ClientMetrics,
): (request: KubeRequest, deadline: Deadline) => Promise<void> {
  const bucket = createTokenBucket(config, clock);
  return async (request, deadline) => {
    const ended = deadline.error();
    if (ended !== undefined) throw ended;
    if (bucket.takeNow()) {
      metrics.rateLimited(request.method, 0);
      return;
    }
    const startedMs = clock.monotonicMs();
    const taken = await bucket.take(deadline.remainingMs(), deadline.signal);
    metrics.rateLimited(request.method, (clock.monotonicMs() - startedMs) / 1000);
    if (taken) return;
    const limit = `the client-side limit of ${config.qps} requests/s leaves no room in time`;
    throw deadline.error() ?? new KubeError("timeout", `${nameOf(request)}: ${limit}`);
  };
}

/** Names the request in errors. */
export function nameOf(request: KubeRequest): string {
  return `${request.method} ${request.path}`;
}

function queryText(request: KubeRequest): string {
  if (request.query === undefined) return "";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

/** 406 Not Acceptable, 415 Unsupported Media Type: some proxies are strict. */
function isRefusalOfType(code: number): boolean {
  return code === 406 || code === 415;
}

function headersOf(
  request: KubeRequest,
  accept: string,
  userAgent: string,
  credentials: HeaderValues,
): Record<string, string | string[]> {
  return {
    ...(credentials as Record<string, string | string[]>),
    accept,
    "user-agent": userAgent,
    ...(request.body !== undefined && { "content-type": request.contentType ?? "application/json" }),
  };
}
