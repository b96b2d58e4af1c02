/** The contract of RetryBatch. */
import { type Clock, type MonotonicMs } from "../util/clock.ts";

/** What one execution did with its batch. */
export type ExecuteOutcome<Result> =
  /** One result per request, in the order of the requests. */
  | { readonly kind: "success"; readonly results: readonly Result[] }
  /** Nothing took effect (a conflict): run again in `delayMs`, with the requests that have joined by then. */
  | { readonly kind: "retry"; readonly delayMs: number }
  /** The whole batch failed. */
  | { readonly kind: "error"; readonly error: unknown };

/** How one submission ended. */
export type SubmitOutcome<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "failed"; readonly error: unknown }
  /** The signal aborted, or the deadline passed or was too near. What an execution in flight does is not undone. */
  | { readonly kind: "cancelled" }
  /** Refused at once: a limit was reached, or the drain has begun. */
  | { readonly kind: "overloaded" };

export interface SubmitOptions {
  /** Aborts when the caller is gone. */
  readonly signal?: AbortSignal;
  /** The caller gives up at this moment. Without it a request waits as long as its batch is retried. */
  readonly deadlineMonotonicMs?: MonotonicMs;
  /** It has waited in a line before: those that have go before all others, the lowest number first. */
  readonly turn?: number;
}

/** `Key`: compared as the keys of a Map are, so objects by identity. */
export interface RetryBatch<Request, Result, Key = string> {
  /**
   * Adds `request` to the next batch of `key`. Settles exactly once and never rejects. An abort or a passed deadline
   * settles it at once, at any stage; a request that has not begun to execute by then never will.
   */
  submit(key: Key, request: Request, options?: SubmitOptions): Promise<SubmitOutcome<Result>>;
  /** Asks `nextBatchDelayMs` again for an execution of `key` that is scheduled. It may start sooner, never later. */
  hasten(key: Key): void;
  /** Refuses further requests; resolves when all accepted ones have settled and no execution runs. */
  drain(): Promise<void>;
}

/** A batch starts when no request has come for `quietMs`, or `mostMs` after it could have started. */
export interface Gathering {
  readonly quietMs: number;
  readonly mostMs: number;
}

export interface RetryBatchOptions<Request, Result, Key = string> {
  readonly clock: Clock;
  /**
   * Executes a batch of at least one request and at most `batchSizeMax`: those with a turn, and then the newest first,
   * because those closest to their timeout lose when there is not enough for all. For one key it is called again only
   * after it has settled, so it must have a time limit of its own. A throw or a rejection is an error of the whole
   * batch.
   */
  readonly execute: (key: Key, requests: readonly Request[]) => Promise<ExecuteOutcome<Result>>;
  /** Delay before the first batch of an idle key, so that a burst becomes one batch. A key is idle after one second. */
  readonly coldStartDelayMs: number;
  /** Most requests of one execution; when there are more, the newest go first and the others follow. */
  readonly batchSizeMax: number;
  /** Most unsettled requests of one key; further ones are overloaded. */
  readonly queuedPerKeyMax: number;
  /** Most keys with unsettled requests; requests for further keys are overloaded. */
  readonly keysMax: number;
  /**
   * Pace: the next execution of `key`, retries included, starts no sooner than this many milliseconds from now. Asked
   * when the one before it has ended, and on `hasten`. Default: no pace.
   */
  readonly nextBatchDelayMs?: (key: Key) => number;
  /** How long the next batch of `key` waits for more requests. A retry does not. Default: not at all. */
  readonly gathering?: (key: Key) => Gathering;
  /**
   * How many milliseconds an execution of `key` may take as a rule. A request that has less time left is cancelled
   * instead of executed: its caller would be gone before the answer. Default 0.
   */
  readonly expectedMs?: (key: Key) => number;
  readonly observer?: RetryBatchObserver<Key>;
}

/** Hooks for metrics. Synchronous and cheap; durations in milliseconds. */
export interface RetryBatchObserver<Key = string> {
  /** A submission has settled; `attempts` counts the executions that it took part in. Refused ones are reported too. */
  onSubmit(event: {
    readonly key: Key;
    readonly durationMs: number;
    readonly attempts: number;
    readonly outcome: SubmitOutcome<unknown>;
  }): void;
  /** An execution has ended. */
  onExecute(event: {
    readonly key: Key;
    readonly durationMs: number;
    readonly size: number;
    readonly outcome: ExecuteOutcome<unknown>;
  }): void;
  /**
   * A batch has ended with success or an error; measured from its first execution, `attempts` = executions until then.
   */
  onBatch(event: { readonly key: Key; readonly durationMs: number; readonly attempts: number }): void;
  /** An execution has given a result to a request that had settled before, because its caller was gone. */
  onUnclaimed?(event: { readonly key: Key; readonly result: unknown }): void;
  /** The number of keys in memory has changed. */
  onInflightKeys(count: number): void;
}
