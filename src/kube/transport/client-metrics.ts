/** Metrics of the transport, with client-go's names, as upstream has them, and the cluster's address as `host`. */
import { type Metrics } from "../../util/metrics.ts";

export interface ClientMetrics {
  /** An attempt was answered with `code`, or not at all ("<error>", as client-go has it). */
  attempt(method: string, code: number | undefined, seconds: number): void;
  /** Bodies of an attempt, in bytes; a stream's answer is not measured. */
  sized(method: string, requestBytes: number, answerBytes: number): void;
  rateLimited(method: string, seconds: number): void;
  retried(method: string, code: number | undefined): void;
}

const durationSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const sizeBytes = [64, 256, 512, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

export function createClientMetrics(metrics: Metrics, host: string): ClientMetrics {
  const requests = metrics.counter("kube_client_requests_total", "HTTP requests to API servers", [
    "code",
    "method",
    "host",
  ]);
  const retries = metrics.counter("kube_client_request_retries_total", "Retries by the client itself", [
    "code",
    "verb",
    "host",
  ]);
  const duration = metrics.histogram(
    "kube_client_request_duration_seconds",
    "Seconds until the response header",
    ["verb", "host"],
    durationSeconds,
  );
  const limiter = metrics.histogram(
    "kube_client_rate_limiter_duration_seconds",
    "Seconds that requests waited for the client-side QPS limit",
    ["verb", "host"],
    durationSeconds,
  );
  const sizes = createSizeObserver(metrics, host);
  const text = (code: number | undefined): string => (code === undefined ? "<error>" : String(code));
  return {
    attempt(method, code, seconds) {
      requests.inc({ code: text(code), method, host });
      duration.observe({ verb: method, host }, seconds);
    },
    sized: sizes,
    rateLimited: (method, seconds) => limiter.observe({ verb: method, host }, seconds),
    retried: (method, code) => retries.inc({ code: text(code), verb: method, host }),
  };
}

function createSizeObserver(metrics: Metrics, host: string): ClientMetrics["sized"] {
  const labels = ["verb", "host"];
  const sent = metrics.histogram(
    "kube_client_request_size_bytes",
    "Bytes of the bodies of requests to API servers",
    labels,
    sizeBytes,
  );
  const received = metrics.histogram(
    "kube_client_response_size_bytes",
    "Bytes of the bodies of answers of API servers, without watches",
    labels,
    sizeBytes,
  );
  return (verb, requestBytes, answerBytes) => {
    sent.observe({ verb, host }, requestBytes);
    received.observe({ verb, host }, answerBytes);
  };
}
