/**
 * The state machine of one key, from the key's first request until nothing waits and nothing runs. It is always in one
 * of two states, and requests gather in both:
 * - scheduled: a timer runs. When it fires, an execution starts. When the last request leaves, it ends.
 * - executing: one execution runs. Afterwards it is scheduled again if requests wait, else it ends.
 */
import { assert, assertNever } from "../util/assert.ts";
import { earlierOf, later, laterOf, longAgo, type MonotonicMs, type Timer } from "../util/clock.ts";
import { isGone, Submission } from "./submission.ts";
import {
  type ExecuteOutcome,
  type Gathering,
  type RetryBatchOptions,
  type SubmitOptions,
  type SubmitOutcome,
} from "./types.ts";

/**
 * Executions that one request may take part in before it fails. Only a guard for requests without a deadline: at 100
 * ms, the shortest usual delay between retries, this is 40 s, longer than the API server lets a deletion live (34 s).
 */
export const attemptsMax = 400;

const noGathering: Gathering = { quietMs: 0, mostMs: 0 };

/** Those with a turn in the order of their turns, then the newest. */
function inOrder<Request, Result, Key>(
  a: Submission<Request, Result, Key>,
  b: Submission<Request, Result, Key>,
): number {
  const { turn: turnOfA = Infinity } = a.options;
  const { turn: turnOfB = Infinity } = b.options;
  return turnOfA === turnOfB ? b.sequence - a.sequence : turnOfA - turnOfB;
}

export class KeyBatch<Request, Result, Key> {
  readonly #key: Key;
  readonly #options: RetryBatchOptions<Request, Result, Key>;
  readonly #onEnd: (hasExecuted: boolean) => void;
  readonly #waiting = new Set<Submission<Request, Result, Key>>();
  #unsettledCount = 0;
  /** While scheduled: when the next execution starts, as far as the pace allows it. */
  #notBeforeMs: MonotonicMs = longAgo;
  #gathering = noGathering;
  /** While scheduled: until when it gathers at most. */
  #gatherUntilMs: MonotonicMs = longAgo;
  #newestMs: MonotonicMs = longAgo;
  /** While scheduled: when the next execution starts, unless more requests come. */
  #dueMs: MonotonicMs = longAgo;
  /** Set while scheduled, undefined while executing. */
  #timer: Timer | undefined;
  #hasExecuted = false;
  /** Executions of the current batch, retries included. */
  #attempts = 0;
  #batchStartedMs: MonotonicMs = longAgo;

  /** The first execution comes after `firstDelayMs`. `onEnd` receives whether there was any execution. */
  constructor(
    key: Key,
    options: RetryBatchOptions<Request, Result, Key>,
    firstDelayMs: number,
    onEnd: (hasExecuted: boolean) => void,
  ) {
    this.#key = key;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#newestMs = options.clock.monotonicMs();
    this.#schedule(firstDelayMs, options.gathering?.(key));
  }

  /** Accepted requests that have not settled, the executing ones included. */
  get unsettledCount(): number {
    return this.#unsettledCount;
  }

  /** Accepts a request that is not cancelled yet. `sequence` grows with each request. */
  submit(request: Request, sequence: number, options: SubmitOptions): Promise<SubmitOutcome<Result>> {
    const { clock, observer } = this.#options;
    const leave = this.#leave.bind(this);
    const submission = new Submission({ key: this.#key, request, sequence, options, clock, observer, leave });
    this.#waiting.add(submission);
    this.#unsettledCount++;
    this.#newestMs = clock.monotonicMs();
    return submission.outcome;
  }

  #settle(submission: Submission<Request, Result, Key>, outcome: SubmitOutcome<Result>): void {
    this.#unsettledCount--;
    submission.settle(outcome);
  }

  /** The caller is gone. */
  #leave(submission: Submission<Request, Result, Key>): void {
    this.#waiting.delete(submission);
    this.#settle(submission, { kind: "cancelled" });
    if (this.#timer === undefined || this.#waiting.size > 0) return;
    this.#timer.cancel();
    this.#end();
  }

  /**
   * Call when the pace may have changed. The execution starts sooner or stays as it is: a pace that is asked for again
   * and again could otherwise delay it forever.
   */
  hasten(): void {
    if (this.#timer === undefined || this.#paced() >= this.#dueMs) return;
    this.#timer.cancel();
    this.#arm();
  }

  #schedule(delayMs: number, gathering = noGathering): void {
    this.#notBeforeMs = later(this.#options.clock.monotonicMs(), delayMs);
    this.#gathering = gathering;
    this.#gatherUntilMs = later(this.#notBeforeMs, gathering.mostMs);
    this.#arm();
  }

  /** Sets a timer even for no delay at all, so that requests of the same turn of the event loop join. */
  #arm(): void {
    const { clock } = this.#options;
    this.#dueMs = this.#paced();
    this.#timer = clock.setTimer(this.#dueMs - clock.monotonicMs(), () => this.#fire());
  }

  /** A timer for each request would cost more than to look again when the one of the last look fires. */
  #fire(): void {
    const { clock } = this.#options;
    const gatheredMs = this.#gathered();
    if (gatheredMs <= clock.monotonicMs()) return this.#begin();
    this.#dueMs = gatheredMs;
    this.#timer = clock.setTimer(gatheredMs - clock.monotonicMs(), () => this.#fire());
  }

  #gathered(): MonotonicMs {
    if (this.#waiting.size >= this.#options.batchSizeMax) return longAgo;
    return earlierOf(this.#gatherUntilMs, later(this.#newestMs, this.#gathering.quietMs));
  }

  /** When the next execution may start. */
  #paced(): MonotonicMs {
    const { clock, nextBatchDelayMs } = this.#options;
    const pacedMs = laterOf(this.#notBeforeMs, later(clock.monotonicMs(), nextBatchDelayMs?.(this.#key) ?? 0));
    return laterOf(pacedMs, this.#gathered());
  }

  #begin(): void {
    this.#timer = undefined;
    const nowMs = this.#options.clock.monotonicMs();
    // Nobody would be there for the answer, but what is executed is not undone.
    const endMs = later(nowMs, this.#options.expectedMs?.(this.#key) ?? 0);
    for (const submission of this.#waiting) if (isGone(submission.options, endMs)) this.#leave(submission);
    if (this.#waiting.size === 0) {
      this.#end();
      return;
    }
    const batch = [...this.#waiting].sort(inOrder).slice(0, this.#options.batchSizeMax);
    for (const submission of batch) {
      this.#waiting.delete(submission);
      submission.attempts++;
    }
    if (this.#attempts++ === 0) this.#batchStartedMs = nowMs;
    this.#hasExecuted = true;
    void this.#execute(batch);
  }

  async #execute(batch: readonly Submission<Request, Result, Key>[]): Promise<void> {
    const { clock, observer } = this.#options;
    const startedMs = clock.monotonicMs();
    const outcome = await this.#outcomeOf(batch.map(({ request }) => request));
    observer?.onExecute({ key: this.#key, durationMs: clock.monotonicMs() - startedMs, size: batch.length, outcome });
    for (const [index, submission] of batch.entries()) {
      if (!submission.isSettled) this.#apply(outcome, submission, index);
      else if (outcome.kind === "success") observer?.onUnclaimed?.({ key: this.#key, result: outcome.results[index] });
    }
    if (outcome.kind !== "retry") this.#closeBatch();
    if (this.#waiting.size === 0) this.#end();
    else if (outcome.kind === "retry") this.#schedule(outcome.delayMs);
    else this.#schedule(0, this.#options.gathering?.(this.#key));
  }

  async #outcomeOf(requests: readonly Request[]): Promise<ExecuteOutcome<Result>> {
    try {
      const outcome = await this.#options.execute(this.#key, requests);
      // Inside the try: requests that a wrong `execute` has left out must fail instead of waiting forever.
      if (outcome.kind === "success")
        assert(outcome.results.length === requests.length, "execute must give one result per request");
      if (outcome.kind === "retry") assert(outcome.delayMs >= 0, "execute must give a delay of 0 ms or more");
      return outcome;
    } catch (error) {
      return { kind: "error", error };
    }
  }

  #apply(outcome: ExecuteOutcome<Result>, submission: Submission<Request, Result, Key>, index: number): void {
    switch (outcome.kind) {
      case "success":
        this.#settle(submission, { kind: "done", result: outcome.results[index]! });
        break;
      case "error":
        this.#settle(submission, { kind: "failed", error: outcome.error });
        break;
      case "retry":
        if (submission.attempts < attemptsMax) this.#waiting.add(submission);
        else this.#settle(submission, { kind: "failed", error: new Error(`gave up after ${attemptsMax} conflicts`) });
        break;
      default:
        assertNever(outcome);
    }
  }

  #closeBatch(): void {
    const { clock, observer } = this.#options;
    observer?.onBatch({
      key: this.#key,
      durationMs: clock.monotonicMs() - this.#batchStartedMs,
      attempts: this.#attempts,
    });
    this.#attempts = 0;
  }

  #end(): void {
    this.#timer = undefined;
    // All requests of a batch that was to be retried have left.
    if (this.#attempts > 0) this.#closeBatch();
    this.#onEnd(this.#hasExecuted);
  }
}
