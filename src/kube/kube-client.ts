/**
 * The contract of a client of one cluster. Implemented by transport/ over undici; tests and the simulation may supply
 * another. Every request has a deadline, honours the cluster's QPS/burst limit and either returns or throws a
 * KubeError.
 *
 * The map of kube/, and its doors:
 * - Its own files are imported directly: kube-client.ts (this contract), informer.ts (the contract of a local copy),
 *   resources.ts (the resources that several roles use), pod-protectors.ts (reads and writes of PodProtectors),
 *   event-recorder.ts (Kubernetes Events), dummy-pod.ts (the update-trigger's pod), patch-or-update.ts (a client of
 *   an account that may not patch).
 * - Its sub-folders are imported only through their index.ts, also by each other: transport/ (requests over HTTP,
 *   credentials), watch/ (lists, watches, barriers), leader-election/ (Leases), cell-leases/ (which cells are silent),
 *   protobuf/ (what a pod informer reads).
 */
import { type Sent, type V1Status } from "../api/models.ts";
import { type EpochMicros } from "../util/clock.ts";

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Absolute path below the server, already encoded: use `resourcePath`. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Content type of `body`; default application/json. */
  readonly contentType?: "application/json" | "application/merge-patch+json" | "application/json-patch+json";
  /**
   * Prefers an answer in protobuf: only for pods, and only the fields that protobuf/ reads arrive. Servers may answer
   * in JSON anyway.
   */
  readonly preferProtobuf?: boolean;
  /** Prefers a list whose objects have nothing but their metadata. Servers may answer with whole objects anyway. */
  readonly preferMetadata?: boolean;
  /** Deadline of the whole request in milliseconds, waiting for the rate limit included; default 30 000. */
  readonly timeoutMs?: number;
  /** A larger body of a 2xx answer ends the request as "malformed"; default 128 MiB. Not for streams. */
  readonly answerBytesMax?: number;
  /**
   * Reads a 2xx answer that is JSON, in place of JSON.parse; undefined = it is none ("malformed"). May overwrite the
   * bytes. Not for streams. A client that has no bytes leaves it out.
   */
  readonly parse?: (body: Buffer) => unknown;
  /**
   * Sent on a new connection, which may reach another replica, as each watch does: a replica in trouble cannot keep the
   * caller waiting.
   */
  readonly newConnection?: true;
  /**
   * Takes the warnings of the answer (admission webhooks give some), whatever its code, before the request settles. Not
   * called without an answer; called again when the client repeats the request by itself.
   */
  readonly onWarnings?: (warnings: readonly string[]) => void;
  /**
   * Takes the time at which the server says that it answered, of whole seconds, whatever the code. As `onWarnings`; not
   * called for an answer that has no time.
   */
  readonly onServerTime?: (time: EpochMicros) => void;
  readonly signal?: AbortSignal;
}

/** The bytes of a watch. */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  /** Set when the server sends protobuf frames; else it is lines of JSON. */
  readonly encoding?: "protobuf";
}

export interface KubeClient {
  /** Name for logs and metrics: "core", "worker" or "worker-<cell>". */
  readonly cluster: string;
  /** Resolves to the decoded body of a 2xx answer, in the shape of its JSON. Throws KubeError. */
  request(request: KubeRequest): Promise<unknown>;
  /**
   * Opens a stream (a watch). Resolves when the 2xx header has arrived; the chunks follow and the iteration throws
   * KubeError when the connection breaks, when `idleTimeoutMs` pass without a byte, or when the signal aborts. Not
   * subject to `timeoutMs` after the header.
   */
  stream(request: KubeRequest, idleTimeoutMs: number): Promise<ByteStream>;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** What kind of failure it was; callers switch on this, never on texts. */
export type KubeErrorKind =
  | "conflict" // 409 Conflict
  | "alreadyExists" // 409 AlreadyExists
  | "notFound" // 404
  | "gone" // 410, or an ERROR event that says Expired
  | "invalid" // 400, 422 and other 4xx
  | "unauthorized" // 401
  | "forbidden" // 403
  | "tooManyRequests" // 429
  | "serverError" // 5xx
  | "timeout" // our deadline, or an idle stream
  | "network" // refused, reset, TLS
  | "malformed" // an answer that is not what it should be
  | "aborted"; // the caller's signal

/** metav1.Status, as far as it is used. */
export type KubeStatus = Sent<Pick<V1Status, "code" | "reason" | "message" | "details">>;

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly kind: KubeErrorKind;
  /** HTTP status code; undefined when no answer arrived. */
  readonly code: number | undefined;
  /** The decoded metav1.Status of the answer, when it had one. */
  readonly status: KubeStatus | undefined;
  /** From the Retry-After header, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: KubeErrorKind,
    message: string,
    details: {
      code?: number;
      status?: KubeStatus | undefined;
      retryAfterMs?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.code = details.code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** What a request threw, as a KubeError. Anything else is a mistake in the program, and is thrown on. */
export function asKubeError(error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  throw error;
}

/** True when `error` is a KubeError of one of `kinds`. */
export function isKubeError(error: unknown, ...kinds: KubeErrorKind[]): error is KubeError {
  return error instanceof KubeError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** The metric label of a failure: the kind of a KubeError, "Unknown" for anything else. */
export function errorLabel(error: unknown): string {
  return isKubeError(error) ? error.kind : "Unknown";
}

export interface Resource {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, lower case. */
  readonly resource: string;
}

/** As kubectl takes it: "pods", "deployments.apps". */
export function resourceText({ group, resource }: Pick<Resource, "group" | "resource">): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/**
 * Builds /api/v1/… or /apis/…; names are encoded. No namespace = all namespaces (or a cluster-scoped object when a name
 * is given).
 */
export function resourcePath(
  resource: Resource,
  at: { readonly namespace?: string | undefined; readonly name?: string; readonly subresource?: string } = {},
): string {
  const root = resource.group === "" ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const namespace = at.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(at.namespace)}`;
  const name = at.name === undefined ? "" : `/${encodeURIComponent(at.name)}`;
  const subresource = at.subresource === undefined ? "" : `/${at.subresource}`;
  return `${root}${namespace}/${resource.resource}${name}${subresource}`;
}
