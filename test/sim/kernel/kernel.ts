/**
 * The core of the simulation: one queue of events in virtual time. An event runs when everything that earlier ones set
 * off has come to rest, so that code made of promises behaves the same in every run. Nothing here knows of Kubernetes.
 */
import { createHash } from "node:crypto";
import { assert } from "../../../src/util/assert.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { type Delayed, DelayHeap } from "../../../src/work-queue/delay-heap.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { drainMicrotasks } from "../../support/virtual-clock.ts";

/** Lines kept for the report of a failure. */
const recentLinesMax = 200;
/**
 * Events of one moment: far more than a disaster sets off. A wait for no time at all, again and again, would
 * stop the time.
 */
const eventsPerMomentMax = 100_000;

const hashedAtOnce = 64 * 1024;

export interface ScheduledEvent extends Delayed {
  readonly run: () => void;
  /** Set to take the event back; it stays in the heap until its time. */
  isCancelled: boolean;
}

export class Kernel {
  readonly seed: number;
  readonly #events = new DelayHeap<ScheduledEvent>();
  readonly #hash = createHash("sha256");
  readonly #recent: string[] = [];
  /** Lines that are not in the hash yet: it takes a few long texts much faster than many short ones. */
  #unhashed = "";
  #nowMs = 0;
  #eventsOfMoment = 0;
  #turns = 0;
  #lines = 0;
  #failure: Error | undefined;

  constructor(seed: number) {
    this.seed = seed;
  }

  /** Virtual milliseconds since the beginning: the true time, which no clock of a node shows. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events that have run, the present one included. */
  get turns(): number {
    return this.#turns;
  }

  /** Random numbers of their own for each purpose, so that more draws for one do not change another. */
  rng(purpose: string): Rng {
    const digest = createHash("sha256").update(`${this.seed}/${purpose}`).digest();
    return createSeededRng(digest.readUInt32LE(0));
  }

  /** Calls `run` after `delayMs`; events of one moment run in the order in which they were set. */
  schedule(delayMs: number, run: () => void): ScheduledEvent {
    assert(delayMs >= 0 && Number.isFinite(delayMs), "an event is set for now or later");
    const event: ScheduledEvent = { dueMs: 0, heapIndex: -1, heapSequence: 0, run, isCancelled: false };
    this.#events.setEarliest(event, this.#nowMs + delayMs);
    return event;
  }

  /** Resolves after `delayMs`. */
  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.schedule(delayMs, resolve));
  }

  /** Notes what happened: part of the hash of the run, and of the report when it fails. */
  note(line: string): void {
    const stamped = `${this.#nowMs.toFixed(3)} ${line}`;
    this.#lines += 1;
    this.#unhashed += stamped;
    if (this.#unhashed.length >= hashedAtOnce) this.#hashAll();
    if (this.#recent.length >= 2 * recentLinesMax) this.#recent.splice(0, recentLinesMax);
    this.#recent.push(stamped);
  }

  /** A checker found something wrong: the run ends, with the first such finding. */
  fail(finding: string): void {
    this.#failure ??= new Error(`${finding} (at ${(this.#nowMs / 1000).toFixed(3)} s)`);
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The newest lines, oldest first. */
  recent(): readonly string[] {
    return this.#recent.slice(-recentLinesMax);
  }

  /** The number of notes so far. */
  get lines(): number {
    return this.#lines;
  }

  /** A digest of everything noted so far. Ends the noting: call it once, at the end. */
  digest(): string {
    this.#hashAll();
    return this.#hash.digest("hex");
  }

  #hashAll(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = "";
  }

  /** Lets time pass until `untilMs`, or until `isDone` says so after an event, or until a checker fails. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<void> {
    await drainMicrotasks();
    while (this.#failure === undefined && !isDone()) {
      const event = this.#events.takeDue(untilMs);
      if (event === undefined) {
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        return;
      }
      if (event.isCancelled) continue;
      this.#eventsOfMoment = event.dueMs > this.#nowMs ? 0 : this.#eventsOfMoment + 1;
      if (this.#eventsOfMoment > eventsPerMomentMax) this.fail("time stands still: somebody waits for no time at all");
      this.#nowMs = event.dueMs;
      this.#turns += 1;
      event.run();
      await drainMicrotasks();
    }
  }
}
