/**
 * Promises that fail while nobody waits for them: a case starts something, and fails before it awaits that. Node.js
 * ends the process then, and with it all cases that were still to come.
 */
import { type EventEmitter } from "node:events";

const event = "unhandledRejection";

export class StrayRejections {
  readonly #source: Pick<EventEmitter, "on" | "off">;
  readonly #seen: unknown[] = [];
  #next = Promise.withResolvers<never>();

  /** Listens from now on; `source` is Node.js' `process`. */
  constructor(source: Pick<EventEmitter, "on" | "off">) {
    this.#source = source;
    this.#expect();
    source.on(event, this.#onRejection);
  }

  /** As `job`, but rejects as soon as there is a stray rejection. */
  race<T>(job: Promise<T>): Promise<T> {
    return Promise.race([job, this.#next.promise]);
  }

  /** Those since the last call. */
  take(): readonly unknown[] {
    this.#expect();
    return this.#seen.splice(0);
  }

  stop(): void {
    this.#source.off(event, this.#onRejection);
  }

  readonly #onRejection = (cause: unknown): void => {
    this.#seen.push(cause);
    this.#next.reject(new Error("a promise failed that nobody was waiting for", { cause }));
  };

  #expect(): void {
    this.#next = Promise.withResolvers<never>();
    this.#next.promise.catch(() => undefined); // mostly nobody races
  }
}
