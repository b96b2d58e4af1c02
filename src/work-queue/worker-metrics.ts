/** What upstream measures of every worker, under its names, beside the metrics of the role itself. */
import { functionDurationSeconds, type Metrics } from "../util/metrics.ts";

export interface WorkerMetrics {
  /** A key was processed; `error` is a kind of failure, or "nil". */
  reconciled(error: string, durationMs: number): void;
  /** Keys in the queue, delayed ones included; called before each scrape. */
  queueLength(length: number): void;
}

export function createWorkerMetrics(metrics: Metrics, worker: "aggregator" | "generator"): WorkerMetrics {
  const reconcile = metrics.histogram(
    "worker_reconcile",
    "Seconds of one reconciliation, by worker: aggregator or generator",
    ["worker", "error"],
    functionDurationSeconds,
  );
  const length = metrics.gauge("worker_queue_length", "Keys in the queue of the worker, including delayed ones", [
    "worker",
  ]);
  return {
    reconciled: (error, durationMs) => reconcile.observe({ worker, error }, durationMs / 1000),
    queueLength: (keys) => length.set({ worker }, keys),
  };
}
