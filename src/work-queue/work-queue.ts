/**
 * The work queue: level-triggered and de-duplicating.
 * - A key that is added twice before it is processed is processed once. One that is added while it is processed is
 *   processed once more afterwards.
 * - Keys take turns by group, when the user of the queue tells their groups: nobody fills the queue for others.
 * - A key waits for at most one moment (of `addAfter`, a requeue or a backoff): the earliest. A processor that runs
 *   early asks for the later moment again if it still matters. `add` does not cancel the wait: once too often does no
 *   harm.
 *
 * Memory: one entry of about 160 bytes (measured, without the key) per key that is queued, waiting, being processed or
 * failing. A key that succeeded leaves nothing.
 */
import { assert, assertNever } from "../util/assert.ts";
import { type Clock, type Timer } from "../util/clock.ts";
import { type Rng } from "../util/rng.ts";
import { type Delayed, DelayHeap } from "./delay-heap.ts";

/** How the processing of a key ended. */
export type Outcome =
  /**
   * Success: the backoff is forgotten. With `requeueAfterMs` (0 when negative) the key comes again, as by `addAfter`.
   */
  | { readonly kind: "done"; readonly requeueAfterMs?: number }
  /** Another writer was first: again soon, without counting as a failure. */
  | { readonly kind: "conflict" }
  /** Again after the backoff of the key. */
  | { readonly kind: "failed"; readonly error: unknown };

export interface WorkQueueOptions<K> {
  readonly clock: Clock;
  readonly rng: Rng;
  /** Keys processed at the same time. */
  readonly concurrency: number;
  /** The n-th failure in a row (from 0) is retried after min(backoffBaseMs * 2^n, backoffMaxMs). */
  readonly backoffBaseMs: number;
  readonly backoffMaxMs: number;
  /**
   * A conflict is retried after a random part of this. Conflicts end by themselves: each one means that another writer
   * succeeded.
   */
  readonly backoffConflictMs: number;
  /**
   * Looks at the object; `signal` is that of `run`. A throw or a rejection counts as failed. Must have a time limit of
   * its own.
   */
  readonly process: (key: K, signal: AbortSignal) => Promise<Outcome>;
  /** Groups with keys that could be processed have one after the other in turn. Default: all keys are one group. */
  readonly groupOf?: (key: K) => string;
  /**
   * Most keys in memory; further ones are refused. Default 1,000,000: 160 MB, far above the objects that one process
   * can watch.
   */
  readonly keysMax?: number;
  /** The only place where the error of a failure goes. */
  readonly observer: WorkQueueObserver<K>;
}

export interface WorkQueueObserver<K> {
  /** A key has been processed. Synchronous and cheap. */
  onReconcile(durationMs: number, outcome: Outcome, key: K): void;
}

export interface WorkQueue<K> {
  /** Queues `key`, whether the queue runs or not. False, and nothing done, when `keysMax` is reached. */
  add(key: K): boolean;
  /** Queues `key` in `delayMs`, or when an earlier wait of the key ends; as `add` when that is not positive. */
  addAfter(key: K, delayMs: number): boolean;
  /** Keys in memory, at most `keysMax`: those that could be processed, wait for a moment, or are being processed. */
  readonly size: number;
  /**
   * Processes keys until `signal` aborts; resolves when the work in flight has ended; never rejects. Keys stay queued,
   * and another `run` may follow (a leader that is elected again), but not at the same time.
   */
  run(signal: AbortSignal): Promise<void>;
}

const keysMaxDefault = 1_000_000;

/** A key is in memory as long as one of these says so. */
interface Entry<K> extends Delayed {
  readonly key: K;
  /** In the ready list of its group. */
  isQueued: boolean;
  isProcessing: boolean;
  /** Added while it was processed. */
  isDirty: boolean;
  /** Failures in a row. */
  failures: number;
  /** The entry behind this one in the ready list of its group. */
  next: Entry<K> | undefined;
}

/** The ready list of a group: first in, first out, never empty. */
interface Group<K> {
  readonly name: string;
  first: Entry<K>;
  last: Entry<K>;
  /** Whose turn is after this one's. */
  next: Group<K> | undefined;
}

/** Keys are compared as a Map does, so they should be strings or shared objects. */
export function createWorkQueue<K>(options: WorkQueueOptions<K>): WorkQueue<K> {
  return new Queue(options);
}

class Queue<K> implements WorkQueue<K> {
  readonly #options: WorkQueueOptions<K>;
  readonly #keysMax: number;
  readonly #entries = new Map<K, Entry<K>>();
  readonly #delayed = new DelayHeap<Entry<K>>();
  /** Those with keys that are ready. */
  readonly #groups = new Map<string, Group<K>>();
  /** Whose turn is next, and whose is last: a linked list through `next`. */
  #first: Group<K> | undefined;
  #last: Group<K> | undefined;
  #processingCount = 0;
  /** Set while the queue runs. */
  #run: { readonly signal: AbortSignal; readonly stopped: () => void } | undefined;
  /** Rings when the first delayed key is due; set only while the queue runs. */
  #alarm: { readonly timer: Timer; readonly dueMs: number } | undefined;

  constructor(options: WorkQueueOptions<K>) {
    assert(options.concurrency >= 1, "the concurrency of a work queue is at least 1");
    this.#options = options;
    this.#keysMax = options.keysMax ?? keysMaxDefault;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(key: K): boolean {
    const entry = this.#entryOf(key);
    if (entry === undefined) return false;
    this.#enqueue(entry);
    // Not at once, so that the caller's own work is done before anything is processed.
    if (this.#hasRoom()) queueMicrotask(() => this.#startWork());
    return true;
  }

  addAfter(key: K, delayMs: number): boolean {
    if (delayMs <= 0) return this.add(key);
    const entry = this.#entryOf(key);
    if (entry === undefined) return false;
    this.#delay(entry, delayMs);
    return true;
  }

  run(signal: AbortSignal): Promise<void> {
    assert(this.#run === undefined, "a work queue runs once at a time");
    if (signal.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#run = { signal, stopped: resolve };
    signal.addEventListener("abort", () => this.#stop(), { once: true });
    this.#takeDue();
    return promise;
  }

  #stop(): void {
    this.#alarm?.timer.cancel();
    this.#alarm = undefined;
    if (this.#processingCount === 0) this.#stopped();
  }

  #stopped(): void {
    const run = this.#run;
    this.#run = undefined;
    run?.stopped();
  }

  /** The entry of `key`, made if need be; undefined when there is no room. */
  #entryOf(key: K): Entry<K> | undefined {
    const existing = this.#entries.get(key);
    if (existing !== undefined || this.#entries.size >= this.#keysMax) return existing;
    const entry: Entry<K> = {
      key,
      isQueued: false,
      isProcessing: false,
      isDirty: false,
      failures: 0,
      next: undefined,
      dueMs: 0,
      heapIndex: -1,
      heapSequence: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #enqueue(entry: Entry<K>): void {
    if (entry.isProcessing) {
      entry.isDirty = true;
      return;
    }
    if (entry.isQueued) return;
    entry.isQueued = true;
    const name = this.#options.groupOf?.(entry.key) ?? "";
    const known = this.#groups.get(name);
    if (known !== undefined) {
      known.last.next = entry;
      known.last = entry;
      return;
    }
    const group: Group<K> = { name, first: entry, last: entry, next: undefined };
    this.#groups.set(name, group);
    this.#append(group);
  }

  #append(group: Group<K>): void {
    if (this.#last === undefined) this.#first = group;
    else this.#last.next = group;
    this.#last = group;
  }

  #dequeue(): Entry<K> | undefined {
    const group = this.#first;
    if (group === undefined) return undefined;
    this.#first = group.next;
    if (group.next === undefined) this.#last = undefined;
    group.next = undefined;
    const entry = group.first;
    if (entry.next === undefined) this.#groups.delete(group.name);
    else {
      group.first = entry.next;
      this.#append(group);
    }
    entry.next = undefined;
    entry.isQueued = false;
    return entry;
  }

  #delay(entry: Entry<K>, delayMs: number): void {
    assert(delayMs >= 0, "a delay is a number that is not negative");
    this.#delayed.setEarliest(entry, this.#options.clock.monotonicMs() + delayMs);
    this.#setAlarm();
  }

  /** Makes the alarm ring for the first delayed key, while the queue runs. */
  #setAlarm(): void {
    const dueMs = this.#delayed.nextDueMs;
    if (dueMs === undefined || this.#run === undefined || this.#run.signal.aborted) return;
    if (this.#alarm !== undefined && this.#alarm.dueMs <= dueMs) return;
    this.#alarm?.timer.cancel();
    const timer = this.#options.clock.setTimer(dueMs - this.#options.clock.monotonicMs(), () => this.#takeDue());
    this.#alarm = { timer, dueMs };
  }

  #takeDue(): void {
    this.#alarm = undefined;
    const nowMs = this.#options.clock.monotonicMs();
    for (let entry = this.#delayed.takeDue(nowMs); entry !== undefined; entry = this.#delayed.takeDue(nowMs)) {
      this.#enqueue(entry);
    }
    // A timer may ring a little early, or much too early when the delay was beyond what a timer can hold: then it is
    // set again.
    this.#setAlarm();
    this.#startWork();
  }

  /** Whether another key may be processed now. */
  #hasRoom(): boolean {
    return this.#run?.signal.aborted === false && this.#processingCount < this.#options.concurrency;
  }

  /** Starts as much work as the concurrency allows. */
  #startWork(): void {
    while (this.#hasRoom()) {
      const entry = this.#dequeue();
      if (entry === undefined) return;
      entry.isProcessing = true;
      this.#processingCount++;
      void this.#work(entry, this.#run!.signal);
    }
  }

  async #work(entry: Entry<K>, signal: AbortSignal): Promise<void> {
    const { clock, observer } = this.#options;
    const startedMs = clock.monotonicMs();
    const outcome = await this.#process(entry.key, signal);
    entry.isProcessing = false;
    this.#processingCount--;
    this.#schedule(entry, outcome);
    if (entry.isDirty) {
      entry.isDirty = false;
      this.#enqueue(entry);
    }
    if (!entry.isQueued && !this.#delayed.has(entry)) this.#entries.delete(entry.key);
    observer.onReconcile(clock.monotonicMs() - startedMs, outcome, entry.key);
    if (!signal.aborted) this.#startWork();
    else if (this.#processingCount === 0) this.#stopped();
  }

  async #process(key: K, signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#options.process(key, signal);
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  /** What comes after the outcome. */
  #schedule(entry: Entry<K>, outcome: Outcome): void {
    const { rng, backoffBaseMs, backoffMaxMs, backoffConflictMs } = this.#options;
    switch (outcome.kind) {
      case "done":
        entry.failures = 0;
        if (outcome.requeueAfterMs !== undefined) this.#delay(entry, Math.max(0, outcome.requeueAfterMs));
        break;
      case "conflict":
        this.#delay(entry, backoffConflictMs * rng.next());
        break;
      case "failed":
        // From 2^40 on every base is above every maximum; beyond 2^1023 the product would not be a number.
        this.#delay(entry, Math.min(backoffBaseMs * 2 ** Math.min(entry.failures, 40), backoffMaxMs));
        entry.failures++;
        break;
      default:
        assertNever(outcome);
    }
  }
}
