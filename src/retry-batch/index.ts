/**
 * RetryBatch: gathers the requests for one key into batches, runs at most one batch per key at a time, and retries a
 * batch after a conflict, together with the requests that have joined since. Generic: it knows nothing of Kubernetes.
 * The webhook uses it to reserve many deletions with one status write (docs/webhook.md#batching).
 * - types.ts: the contract.
 * - retry-batch.ts: the keys, the limits and the drain.
 * - key-batch.ts: the state machine of one key.
 * - submission.ts: one request until it settles.
 */
export { createRetryBatch } from "./retry-batch.ts";
export {
  type ExecuteOutcome,
  type Gathering,
  type RetryBatch,
  type RetryBatchObserver,
  type SubmitOutcome,
} from "./types.ts";
