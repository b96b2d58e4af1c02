/**
 * The state machine of one key. It lives from the key's first request until nothing waits and nothing runs, and is
 * always in one of two states: *scheduled* (a timer runs; requests gather) or *executing* (one execution runs; requests
 * gather for the next one).
 *
 *   scheduled --timer--> executing --success or error, or a retry--> scheduled, or the end when nobody waits scheduled
 *   --the last request leaves--> the end
 */
import { assert, assertNever } from "../util/assert.ts";
import { type Timer } from "../util/clock.ts";
import { isGone, Submission } from "./submission.ts";
import { type ExecuteOutcome, type RetryBatchOptions, type SubmitOptions, type SubmitOutcome } from "./types.ts";

/**
 * Executions that one request may take part in before it fails. Only a guard for requests without a deadline: at 100
 * ms, the shortest usual delay between retries, this is 40 s, longer than the API server lets a deletion live (34 s).
 */
export const attemptsMax = 400;

export class KeyBatch<Request, Result, Key> {
  readonly #key: Key;
  readonly #options: RetryBatchOptions<Request, Result, Key>;
  readonly #onEnd: (executed: boolean) => void;
  readonly #waiting = new Set<Submission<Request, Result, Key>>();
  #unsettledCount = 0;
  /** While scheduled: the pace aside, the next execution starts at this moment. */
  #notBeforeMs = 0;
  /** While scheduled: when the next execution starts. */
  #dueMs = 0;
  /** Set while scheduled, undefined while executing. */
  #timer: Timer | undefined;
  #executed = false;
  /** Executions of the current batch, retries included. */
  #attempts = 0;
  #batchStartedMs = 0;

  /** The first execution comes after `firstDelayMs`. `onEnd` is told whether there was any execution. */
  constructor(
    key: Key,
    options: RetryBatchOptions<Request, Result, Key>,
    firstDelayMs: number,
    onEnd: (executed: boolean) => void,
  ) {
    this.#key = key;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#schedule(firstDelayMs);
  }

  /** Accepted requests that have not settled, the executing ones included. */
  get unsettledCount(): number {
    return this.#unsettledCount;
  }

  /** Accepts a request whose caller is still there. `sequence` grows with each request. */
  submit(request: Request, sequence: number, options: SubmitOptions): Promise<SubmitOutcome<Result>> {
    const { clock, observer } = this.#options;
    const leave = this.#leave.bind(this);
    const submission = new Submission({ key: this.#key, request, sequence, options, clock, observer, leave });
    this.#waiting.add(submission);
    this.#unsettledCount++;
    return submission.outcome;
  }

  #settle(submission: Submission<Request, Result, Key>, outcome: SubmitOutcome<Result>): void {
    this.#unsettledCount--;
    submission.settle(outcome);
  }

  /** The caller has gone. */
  #leave(submission: Submission<Request, Result, Key>): void {
    const waited = this.#waiting.delete(submission);
    this.#settle(submission, { kind: "cancelled", mayHaveTakenEffect: !waited });
    if (this.#timer === undefined || this.#waiting.size > 0) return;
    this.#timer.cancel();
    this.#end();
  }

  /**
   * The pace has changed. Only sooner: a pace that is asked for again and again could otherwise put an execution off
   * for ever.
   */
  hasten(): void {
    if (this.#timer === undefined || this.#paced() >= this.#dueMs) return;
    this.#timer.cancel();
    this.#arm();
  }

  #schedule(delayMs: number): void {
    this.#notBeforeMs = this.#options.clock.monotonicMs() + delayMs;
    this.#arm();
  }

  /** A timer even for no delay at all: requests that arrive in the same turn of the event loop join. */
  #arm(): void {
    const { clock } = this.#options;
    this.#dueMs = this.#paced();
    this.#timer = clock.setTimer(this.#dueMs - clock.monotonicMs(), () => this.#begin());
  }

  /** When the next execution may start. */
  #paced(): number {
    const { clock, nextBatchDelayMs } = this.#options;
    return Math.max(this.#notBeforeMs, clock.monotonicMs() + (nextBatchDelayMs?.(this.#key) ?? 0));
  }

  #begin(): void {
    this.#timer = undefined;
    const nowMs = this.#options.clock.monotonicMs();
    // A deadline that falls on this very moment may have its timer behind ours.
    for (const submission of this.#waiting) if (isGone(submission.options, nowMs)) this.#leave(submission);
    if (this.#waiting.size === 0) {
      this.#end();
      return;
    }
    const batch = [...this.#waiting].sort((a, b) => b.sequence - a.sequence).slice(0, this.#options.batchSizeMax);
    for (const submission of batch) {
      this.#waiting.delete(submission);
      submission.attempts++;
    }
    if (this.#attempts++ === 0) this.#batchStartedMs = nowMs;
    this.#executed = true;
    void this.#execute(batch);
  }

  async #execute(batch: readonly Submission<Request, Result, Key>[]): Promise<void> {
    const { clock, observer } = this.#options;
    const startedMs = clock.monotonicMs();
    const outcome = await this.#outcomeOf(batch.map(({ request }) => request));
    observer?.onExecute({ key: this.#key, durationMs: clock.monotonicMs() - startedMs, size: batch.length, outcome });
    for (const [index, submission] of batch.entries()) {
      if (!submission.isSettled) this.#apply(outcome, submission, index);
    }
    if (outcome.kind !== "retry") this.#closeBatch();
    if (this.#waiting.size === 0) this.#end();
    else this.#schedule(outcome.kind === "retry" ? outcome.delayMs : 0);
  }

  async #outcomeOf(requests: readonly Request[]): Promise<ExecuteOutcome<Result>> {
    try {
      const outcome = await this.#options.execute(this.#key, requests);
      // Checked in here, so that nobody waits for ever for what a wrong `execute` has left out.
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
    // Everybody left a batch that was to be retried.
    if (this.#attempts > 0) this.#closeBatch();
    this.#onEnd(this.#executed);
  }
}
