/** One request from its acceptance until it settles, exactly once: by the batch, by its signal or by its deadline. */
import { assert } from "../util/assert.ts";
import { type Clock, type MonotonicMs, type Timer } from "../util/clock.ts";
import { type RetryBatchObserver, type SubmitOptions, type SubmitOutcome } from "./types.ts";

export class Submission<Request, Result, Key> {
  readonly request: Request;
  /** Order of arrival. */
  readonly sequence: number;
  readonly options: SubmitOptions;
  readonly outcome: Promise<SubmitOutcome<Result>>;
  /** Executions that it took part in. */
  attempts = 0;

  readonly #key: Key;
  readonly #clock: Clock;
  readonly #observer: RetryBatchObserver<Key> | undefined;
  readonly #submittedMs: MonotonicMs;
  readonly #resolve: (outcome: SubmitOutcome<Result>) => void;
  readonly #onGone: () => void;
  readonly #deadlineTimer: Timer | undefined;
  #isSettled = false;

  /** `leave` is called when the caller is gone: on an abort, and when the deadline passes. */
  constructor(init: {
    readonly key: Key;
    readonly request: Request;
    readonly sequence: number;
    readonly options: SubmitOptions;
    readonly clock: Clock;
    readonly observer: RetryBatchObserver<Key> | undefined;
    readonly leave: (submission: Submission<Request, Result, Key>) => void;
  }) {
    const { promise, resolve } = Promise.withResolvers<SubmitOutcome<Result>>();
    this.request = init.request;
    this.sequence = init.sequence;
    this.outcome = promise;
    this.#resolve = resolve;
    this.#key = init.key;
    this.#clock = init.clock;
    this.#observer = init.observer;
    this.options = init.options;
    this.#submittedMs = init.clock.monotonicMs();
    this.#onGone = () => init.leave(this);
    const { signal, deadlineMonotonicMs } = init.options;
    signal?.addEventListener("abort", this.#onGone, { once: true });
    if (deadlineMonotonicMs !== undefined) {
      this.#deadlineTimer = init.clock.setTimer(deadlineMonotonicMs - this.#submittedMs, this.#onGone);
    }
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  settle(outcome: SubmitOutcome<Result>): void {
    assert(!this.#isSettled, "a submission settled twice");
    this.#isSettled = true;
    this.options.signal?.removeEventListener("abort", this.#onGone);
    this.#deadlineTimer?.cancel();
    this.#resolve(outcome);
    this.#observer?.onSubmit({
      key: this.#key,
      durationMs: this.#clock.monotonicMs() - this.#submittedMs,
      attempts: this.attempts,
      outcome,
    });
  }
}

/** Whether the caller is gone: its signal has aborted, or its deadline is not after `atMs`. */
export function isGone({ signal, deadlineMonotonicMs }: SubmitOptions, atMs: MonotonicMs): boolean {
  return signal?.aborted === true || (deadlineMonotonicMs !== undefined && deadlineMonotonicMs <= atMs);
}
