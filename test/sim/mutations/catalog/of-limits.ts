/** Mutations of what ends, and of what is let go of (docs/contributing.md#limits). */
import { type Mutation } from "../mutation.ts";

export const mutationsOfLimits: readonly Mutation[] = [
  {
    name: "deadline-is-ignored",
    why: "a review is answered within the timeout that the API server names, less its rounding",
    file: "webhook/http/app.ts",
    find: `later(arrived, this.#timeoutMs(target));`,
    replace: `later(arrived, 2 * this.#timeoutMs(target));`,
  },
  {
    name: "write-is-awaited-beyond-the-deadline",
    why: "a deadline that passes during the write ends the review as well",
    file: "retry-batch/key-batch.ts",
    find: `this.#waiting.delete(submission);
    this.#settle(submission, { kind: "cancelled" });`,
    replace: `if (!this.#waiting.delete(submission)) return;
    this.#settle(submission, { kind: "cancelled" });`,
  },
  {
    name: "too-late-to-record-is-recorded",
    why: "no quota is written for a caller who would be gone before the answer",
    file: "retry-batch/key-batch.ts",
    find: `this.#options.expectedMs?.(this.#key) ?? 0`,
    replace: `0`,
    scenario: "72k-too-late-to-record",
  },
  {
    name: "caller-that-has-gone-is-served",
    why: "nothing is executed for a review whose caller has gone",
    file: "webhook/http/app.ts",
    find: `signal: request.signal, peer, unidentifiedPeer };`,
    replace: `peer, unidentifiedPeer };`,
  },
  {
    name: "review-is-never-over",
    why: "a review that has been answered is not in flight any more",
    file: "webhook/http/app.ts",
    find: `this.#limit.leave(context.unidentifiedPeer);`,
    replace: ``,
  },
  {
    name: "idle-key-stays",
    why: "keys of a RetryBatch vanish when idle",
    file: "retry-batch/retry-batch.ts",
    find: `active.delete(key);
      if (hasExecuted)`,
    replace: `if (hasExecuted)`,
  },
  {
    name: "history-is-never-packed",
    why: "a history with more buckets than compactThreshold is packed",
    file: "accounting/history/compaction.ts",
    find: `if (buckets.length <= threshold) return buckets;`,
    replace: `return buckets;`,
  },
  {
    name: "answered-fence-is-waited-for",
    why: "who waits for a fence is forgotten when it has been answered",
    file: "aggregator/counting/waiting.ts",
    find: `this.#fences.delete(podUID);`,
    replace: ``,
    only: ["other-refusals"],
  },
  {
    name: "pools-are-not-emptied",
    why: "who waits for an event or a barrier waits once",
    file: "aggregator/counting/waiting.ts",
    find: `keys.clear();`,
    replace: ``,
  },
  {
    name: "done-key-stays-in-the-queue",
    why: "a key that succeeded leaves nothing in a work queue",
    file: "work-queue/work-queue.ts",
    find: `if (!entry.isQueued && !this.#delayed.has(entry)) this.#entries.delete(entry.key);`,
    replace: ``,
  },
];
