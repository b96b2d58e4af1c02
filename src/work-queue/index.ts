/**
 * A work queue of keys in the manner of client-go's: each key is queued once, never processed twice at the same time,
 * and retried with backoff.
 * - work-queue.ts: the queue and its workers.
 * - delay-heap.ts: keys that wait for a moment.
 * - worker-metrics.ts: what upstream measures of each worker.
 */
export { createWorkerMetrics, type WorkerMetrics } from "./worker-metrics.ts";
export { createWorkQueue, type Outcome, type WorkQueue } from "./work-queue.ts";
