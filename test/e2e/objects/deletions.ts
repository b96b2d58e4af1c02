/** Mass deletions and evictions with a chosen number in flight, each one timed. */
import { type AdminClient } from "../clusters/admin-client.ts";
import { Limiter } from "../clusters/limiter.ts";
import { podPath } from "./pods.ts";

export interface DeletionOptions {
  readonly namespace: string;
  readonly names: readonly string[];
  /** Requests in flight. */
  readonly concurrency: number;
  readonly how: "delete" | "evict";
  /** Default: the pod's own terminationGracePeriodSeconds. */
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
  /** What the pod must be. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/** One request. `code` is 0 when there was no answer. */
export interface DeletionAttempt {
  readonly name: string;
  readonly latencyMs: number;
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

/**
 * One attempt for each name, in the order of the names, on connections that are open already. Never throws for what the
 * server says about a pod.
 */
export async function deletePods(admin: AdminClient, options: DeletionOptions): Promise<readonly DeletionAttempt[]> {
  await admin.warm(Math.min(options.concurrency, options.names.length));
  return new Limiter(options.concurrency).all(options.names, (name) => deletePod(admin, name, options));
}

/** Deletes one pod without a grace period. */
export async function deleteNow(admin: AdminClient, namespace: string, name: string): Promise<DeletionAttempt> {
  return deletePod(admin, name, { namespace, names: [name], concurrency: 1, how: "delete", gracePeriodSeconds: 0 });
}

async function deletePod(admin: AdminClient, name: string, options: DeletionOptions): Promise<DeletionAttempt> {
  const { namespace, how, gracePeriodSeconds, preconditions, dryRun = false } = options;
  const path = podPath(namespace, name);
  const deleteOptions = {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(preconditions && { preconditions }),
  };
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace }, deleteOptions };
  const startMs = performance.now();
  const result = (code: number, reason = "", message = ""): DeletionAttempt => ({
    name,
    latencyMs: performance.now() - startMs,
    code,
    reason,
    message,
  });
  try {
    const { code, body } =
      how === "evict"
        ? await admin.request<Status>("POST", `${path}/eviction`, { body: eviction })
        : await admin.request<Status>("DELETE", path, {
            body: { apiVersion: "v1", kind: "DeleteOptions", ...deleteOptions },
          });
    return code <= 299 ? result(code) : result(code, body.reason, body.message);
  } catch (error) {
    return result(0, "NoAnswer", String(error));
  }
}

interface Status {
  readonly reason?: string;
  readonly message?: string;
}

export interface DeletionFigures {
  readonly deleted: number;
  /** 403 and 429: what an admission webhook or a budget answers. */
  readonly refused: number;
  /** Everything else: not found, internal errors, no answer. */
  readonly otherwise: number;
  /** Of the deleted ones, in milliseconds; 0 when there are none. */
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export function deletionFigures(attempts: readonly DeletionAttempt[]): DeletionFigures {
  const admitted = attempts.filter(({ code }) => code >= 200 && code <= 299);
  const refused = attempts.filter(({ code }) => code === 403 || code === 429).length;
  const latencies = admitted.map(({ latencyMs }) => latencyMs).sort((a, b) => a - b);
  return {
    deleted: admitted.length,
    refused,
    otherwise: attempts.length - admitted.length - refused,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
}

/** The smallest value that at least `share` of the sorted values do not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
  return Math.round(value * 10) / 10;
}
