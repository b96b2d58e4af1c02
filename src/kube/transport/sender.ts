/**
 * Sends one request and returns its 2xx answer: rate limit, credentials with one refresh when they do not fit the
 * server, JSON where protobuf is refused, classification of failures.
 */
import type { Readable } from "node:stream";
import { type Clock, type EpochMicros } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { isKubeError, KubeError, type KubeRequest } from "../kube-client.ts";
import { mediaType } from "../protobuf/index.ts";
import { type Answer, errorOfAnswer, readBytes } from "./answer.ts";
import { type ClientMetrics } from "./client-metrics.ts";
import { type ClusterConfig } from "../../config/clusters.ts";
import { type Connections, type CreateDispatchers, createConnections } from "./connections.ts";
import { type CredentialSource, type Credentials, type HeaderValues } from "./credentials.ts";
import { type Deadline } from "./deadline.ts";
import { errorBodyBytesMax, exchange } from "./exchange.ts";
import { isDistrust, networkError } from "../kube-errors.ts";
import { createTokenBucket } from "../token-bucket.ts";

/** A whole answer, or the header of one whose body is still to be read from `stream`. */
interface Reply extends Answer {
  readonly stream?: Readable;
}

export interface Sender {
  /** Resolves with a 2xx answer; `isStreaming` = with its header, on a connection of its own. Throws KubeError. */
  send(request: KubeRequest, deadline: Deadline, isStreaming: boolean): Promise<Reply>;
  destroy(): Promise<void>;
}

const jsonType = "application/json";
/** A server without protobuf for a resource (custom resources have none) answers in JSON. */
const eitherType = `${mediaType},${jsonType}`;
/** A proxy or an aggregated API server without it answers with whole objects. */
const metadataType = `${jsonType};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${jsonType}`;

export function createSender(
  config: ClusterConfig,
  deps: { readonly clock: Clock; readonly logger: Logger; readonly dispatchers?: CreateDispatchers },
  source: CredentialSource,
  metrics: ClientMetrics,
): Sender {
  const { clock, logger } = deps;
  const connections = createConnections(
    (err) => logger.warn("Failed to close old connections", { err }),
    deps.dispatchers,
  );
  const limitRate = createRateLimit(config, clock, metrics);
  const attempt = createAttempt(config, connections, clock, metrics);
  /**
   * Kept until this process ends: a server that supports protobuf later still gets JSON, which is slower and otherwise
   * the same.
   */
  let isProtobufRefused = false;

  return {
    async send(request, deadline, isStreaming) {
      await limitRate(request, deadline);
      for (let isRefreshed = false; ;) {
        const current = source.current();
        // An exec plugin may hang.
        const credentials = current instanceof Promise ? await deadline.race(current) : current;
        const isProtobuf = request.preferProtobuf === true && !isProtobufRefused;
        const accept = isProtobuf ? eitherType : request.preferMetadata === true ? metadataType : jsonType;
        let error: KubeError;
        try {
          const reply = await attempt(request, credentials, deadline, isStreaming, accept);
          request.onWarnings?.(readWarnings(reply.headers["warning"]));
          tellServerTime(request, reply.headers["date"]);
          if (isSuccess(reply.code)) return reply;
          error = errorOfAnswer(nameOf(request), reply);
        } catch (thrown) {
          if (!isKubeError(thrown)) throw thrown;
          error = thrown;
        }
        if (isProtobuf && isRefusalOfType(error.code)) {
          isProtobufRefused = true;
          logger.info("The server rejects protobuf, using JSON", { err: error });
        } else {
          if (isRefreshed || !(error.kind === "unauthorized" || isDistrust(error))) throw error;
          if (!(await deadline.race(source.refresh(credentials)))) throw error;
          isRefreshed = true;
        }
        metrics.retried(request.method, error.code);
      }
    },
    destroy: () => connections.destroy(),
  };
}

type Attempt = (
  request: KubeRequest,
  credentials: Credentials,
  deadline: Deadline,
  isStreaming: boolean,
  accept: string,
) => Promise<Reply>;

/** Sends a request once; resolves with whatever the server answers. */
function createAttempt(config: ClusterConfig, connections: Connections, clock: Clock, metrics: ClientMetrics): Attempt {
  return async (request, credentials, deadline, isStreaming, accept) => {
    // The emitter reports only an abort that is still to come.
    const ended = deadline.error();
    if (ended !== undefined) throw ended;
    const what = nameOf(request);
    const { requests, streams, origin, pathPrefix } = connections.of(credentials);
    const startedMs = clock.monotonicMs();
    let isAnswered = false;
    const onHeader = (code: number | undefined): void => {
      isAnswered = true;
      metrics.attempt(request.method, code, (clock.monotonicMs() - startedMs) / 1000);
    };
    const options = {
      origin,
      path: `${pathPrefix}${request.path}${queryText(request)}`,
      method: request.method,
      headers: headersOf(request, accept, config.userAgent, credentials.headers),
      body: request.body === undefined ? null : JSON.stringify(request.body),
      // Otherwise undici closes the connection after each DELETE, because some servers do not expect its body.
      reset: false,
    };
    try {
      if (!isStreaming) {
        const dispatcher = request.newConnection === true ? streams : requests;
        const limits = { what, deadline, onHeader, bytesMax: request.answerBytesMax };
        const answer = await exchange(dispatcher, options, limits);
        metrics.sized(request.method, Buffer.byteLength(options.body ?? ""), answer.body.byteLength);
        return answer;
      }
      const response = await streams.request({ ...options, signal: deadline.emitter });
      const { statusCode: code, headers, body } = response;
      onHeader(code);
      return isSuccess(code)
        ? { code, headers, body: Buffer.alloc(0), stream: body }
        : { code, headers, body: await readBytes(body, errorBodyBytesMax, what, deadline) };
    } catch (error) {
      if (!isAnswered) onHeader(undefined);
      throw deadline.error() ?? (isKubeError(error) ? error : networkError(what, error));
    }
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

/** An HTTP date: "Sun, 06 Nov 1994 08:49:37 GMT". */
function tellServerTime({ onServerTime }: KubeRequest, header: unknown): void {
  const ms = typeof header === "string" ? Date.parse(header) : Number.NaN;
  if (!Number.isNaN(ms)) onServerTime?.((ms * 1000) as EpochMicros);
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

function isSuccess(code: number): boolean {
  return code >= 200 && code < 300;
}

/** 406 Not Acceptable, 415 Unsupported Media Type: some proxies are strict. */
function isRefusalOfType(code: number | undefined): boolean {
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
    ...(request.body !== undefined && { "content-type": request.contentType ?? jsonType }),
  };
}

/**
 * Reads the Warning header, in which an API server passes on what admission webhooks warn of. As RFC 7234 writes it:
 * code, agent, text in quotes, and perhaps a date. Proxies join several by commas.
 */
const warningValue = /(\d{3}) [^\s",]+ "((?:[^"\\]|\\.)*)"/g;

/** The texts of the header's values with the code 299, the only one that Kubernetes gives; others are left out. */
export function readWarnings(header: unknown): readonly string[] {
  if (header === undefined) return [];
  const values: readonly unknown[] = Array.isArray(header) ? header : [header];
  return values.flatMap((value) =>
    [...String(value).matchAll(warningValue)]
      .filter(([, code]) => code === "299")
      .map(([, , text = ""]) => text.replaceAll(/\\(.)/g, "$1")),
  );
}
