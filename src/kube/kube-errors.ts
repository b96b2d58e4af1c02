/** Turns answers and exceptions of the transport into KubeErrors. */
import { KubeError, type KubeErrorKind, type KubeStatus } from "./kube-client.ts";

/** The kind that belongs to an HTTP status code of 400 or more (or the code of a metav1.Status in a watch). */
function kindOfCode(code: number, status: KubeStatus | undefined): KubeErrorKind {
  if (code === 409) return status?.reason === "AlreadyExists" ? "alreadyExists" : "conflict";
  if (code === 404) return "notFound";
  if (code === 410 || status?.reason === "Expired") return "gone";
  if (code === 401) return "unauthorized";
  if (code === 403) return "forbidden";
  if (code === 429) return "tooManyRequests";
  if (code >= 500) return "serverError";
  return code >= 400 ? "invalid" : "malformed";
}

/** Decodes a metav1.Status; undefined when `value` is none. */
function parseStatus(value: unknown): KubeStatus | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { kind, code, reason, message, details } = value as Readonly<Record<string, unknown>>;
  if (kind !== "Status") return undefined;
  return {
    ...(typeof code === "number" && { code }),
    ...(typeof reason === "string" && { reason }),
    ...(typeof message === "string" && { message }),
    ...(typeof details === "object" && details !== null && { details }),
  };
}

/** `what` names the request: "GET /api/v1/pods". `body` is the text of the answer, `object` what it holds. */
export function errorOfResponse(
  what: string,
  code: number,
  body: string,
  retryAfter: unknown,
  object: unknown = parseJson(body),
): KubeError {
  const status = parseStatus(object);
  // Not every answer comes from the API server; a proxy's page is cut to fit into a log line.
  const message = status?.message ?? body.slice(0, 200).replaceAll(/\s+/g, " ");
  const reason = status?.reason === undefined ? "" : ` ${status.reason}`;
  return new KubeError(kindOfCode(code, status), `${what}: ${code}${reason}: ${message}`, {
    code,
    status,
    retryAfterMs: parseRetryAfter(retryAfter),
  });
}

/** The Status object of a watch event of type ERROR. */
export function errorOfStatus(what: string, object: unknown): KubeError {
  const status = parseStatus(object);
  if (status?.code === undefined) return new KubeError("malformed", `${what}: an ERROR event without a Status`);
  const { code, reason = "", message = "" } = status;
  const retryAfterSeconds = status.details?.retryAfterSeconds;
  return new KubeError(kindOfCode(code, status), `${what}: ${code} ${reason}: ${message}`, {
    code,
    status,
    retryAfterMs: typeof retryAfterSeconds === "number" ? retryAfterSeconds * 1000 : undefined,
  });
}

/** What the HTTP client threw: connection refused or broken, DNS, TLS. */
export function networkError(what: string, error: unknown): KubeError {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = typeof message === "string" && message !== "" ? message : String(code ?? error);
  return new KubeError("network", `${what}: ${text}`, { cause: error });
}

/**
 * Codes with which Node names why a certificate is not trusted (OpenSSL's X509_V_ERR_*, and its own check of the name).
 */
const distrustCodes = /CERT|^UNABLE_TO_|^INVALID_CA$/;

/**
 * True when the server's certificate was not trusted, so that the request was never sent: the authority may have been
 * replaced.
 */
export function isDistrust(error: KubeError): boolean {
  const code = (error.cause as { readonly code?: unknown } | undefined)?.code;
  return error.kind === "network" && typeof code === "string" && distrustCodes.test(code);
}

/** For Outage: a cluster that is away refuses connections, or lets them hang, by turns. */
export function wayToFail({ kind }: KubeError): string {
  return kind === "timeout" || kind === "aborted" ? "network" : kind;
}

/** Kubernetes sends whole seconds; an HTTP date (from a proxy) is not worth a wall clock. */
function parseRetryAfter(text: unknown): number | undefined {
  return typeof text === "string" && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
