/** A RetryBatch on a virtual clock whose executions the test ends by hand. */
import assert from "node:assert/strict";
import { createRetryBatch } from "../../../src/retry-batch/retry-batch.ts";
import {
  type ExecuteOutcome,
  type RetryBatchObserver,
  type RetryBatchOptions,
  type SubmitOptions,
  type SubmitOutcome,
} from "../../../src/retry-batch/types.ts";
import { createVirtualClock, drainMicrotasks } from "../../support/virtual-clock.ts";

export interface Execution {
  readonly key: string;
  readonly requests: readonly string[];
  readonly startedMs: number;
  /** Ends it, and lets everything that follows happen. */
  end(outcome: ExecuteOutcome<string>): Promise<void>;
  /** Ends it with the result "ok <request>" for each request. */
  succeed(): Promise<void>;
  reject(error: unknown): Promise<void>;
}

export interface Submitted {
  /** Undefined while it waits. */
  outcome: SubmitOutcome<string> | undefined;
  settledMs: number | undefined;
  settledCount: number;
}

export interface SubmitEvent {
  readonly key: string;
  readonly durationMs: number;
  readonly attempts: number;
  readonly outcome: SubmitOutcome<unknown>;
}

export function createHarness(changes: Partial<RetryBatchOptions<string, string>> = {}) {
  const clock = createVirtualClock();
  const executions: Execution[] = [];
  const options: RetryBatchOptions<string, string> = {
    clock,
    coldStartDelayMs: 0,
    batchSizeMax: 100,
    queuedPerKeyMax: 100,
    keysMax: 100,
    execute(key, requests) {
      const { promise, resolve, reject } = Promise.withResolvers<ExecuteOutcome<string>>();
      executions.push({
        key,
        requests,
        startedMs: clock.monotonicMs(),
        async end(outcome) {
          resolve(outcome);
          await drainMicrotasks();
        },
        succeed() {
          return this.end({ kind: "success", results: requests.map((request) => `ok ${request}`) });
        },
        async reject(error) {
          reject(error);
          await drainMicrotasks();
        },
      });
      return promise;
    },
    ...changes,
  };
  const pool = createRetryBatch(options);
  const takeExecution = (): Execution => {
    assert.equal(executions.length, 1, "exactly one execution must have started");
    return executions.shift()!;
  };
  /** The one that has started after so long. */
  const next = async (ms: number): Promise<Execution> => {
    await clock.advance(ms);
    return takeExecution();
  };
  return {
    clock,
    pool,
    executions,
    submit: (key: string, request: string, submitOptions?: SubmitOptions): Submitted => {
      const submitted: Submitted = { outcome: undefined, settledMs: undefined, settledCount: 0 };
      void pool.submit(key, request, submitOptions).then((outcome) => {
        submitted.outcome = outcome;
        submitted.settledMs = clock.monotonicMs();
        submitted.settledCount++;
      });
      return submitted;
    },
    /** The one execution that must have started since the last call. */
    takeExecution,
    next,
    succeedAfter: async (ms: number): Promise<void> => (await next(ms)).succeed(),
  };
}

export function recordingObserver() {
  const submits: SubmitEvent[] = [];
  const executes: { size: number; kind: string; durationMs: number }[] = [];
  const batches: { key: string; durationMs: number; attempts: number }[] = [];
  const inflightKeys: number[] = [];
  const unclaimed: { key: string; result: unknown }[] = [];
  const observer: RetryBatchObserver = {
    onSubmit: (event) => submits.push(event),
    onExecute: ({ size, outcome, durationMs }) => executes.push({ size, kind: outcome.kind, durationMs }),
    onBatch: (event) => batches.push(event),
    onInflightKeys: (count) => inflightKeys.push(count),
    onUnclaimed: (event) => unclaimed.push(event),
  };
  return { observer, submits, executes, batches, inflightKeys, unclaimed };
}

export const done = (request: string) => ({ kind: "done", result: `ok ${request}` }) as const;
export const cancelled = { kind: "cancelled" } as const;
