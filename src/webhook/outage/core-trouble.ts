/** Whether one core takes status writes, for the answers of reviews and for the log. */
import { type KubeError } from "../../kube/kube-client.ts";
import { type Clock, longAgo, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";

/** A core that is away fails hundreds of writes a second; one line a minute tells that and how many. */
const logIntervalMs = 60_000;
/** When nothing was written for so long, an earlier failure says nothing of the present one. */
const forgottenAfterMs = 30_000;

export class CoreTrouble {
  readonly #core: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** The last failure while it lasts. */
  #message: string | undefined;
  /** The first and the last failure since a write went through. */
  #firstAt: MonotonicMs = longAgo;
  #lastAt: MonotonicMs = longAgo;
  /** Failures that no log line has told yet. */
  #unlogged = 0;
  #loggedAt: MonotonicMs = longAgo;
  /** The last line was one of failures. */
  #isTold = false;

  /** `core`: its name, for the log. */
  constructor(core: string, clock: Clock, logger: Logger) {
    this.#core = core;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** A status write, or the read before it, failed for a reason other than a lost race or a deleted object. */
  failed(error: KubeError): void {
    const now = this.#clock.monotonicMs();
    if (this.#message === undefined || now - this.#lastAt > forgottenAfterMs) this.#firstAt = now;
    this.#lastAt = now;
    this.#message = error.message;
    this.#unlogged += 1;
    if (now - this.#loggedAt < logIntervalMs) return;
    this.#logger.warn("Status writes fail, so pod deletions cannot be recorded", {
      core: this.#core,
      failures: this.#unlogged,
      err: error,
    });
    this.#unlogged = 0;
    this.#loggedAt = now;
    this.#isTold = true;
  }

  /** A status write went through. */
  recovered(): void {
    this.#message = undefined;
    if (!this.#isTold) return;
    this.#isTold = false;
    const lastedSeconds = Math.round((this.#clock.monotonicMs() - this.#firstAt) / 100) / 10;
    this.#logger.info("Status writes go through again", { core: this.#core, failures: this.#unlogged, lastedSeconds });
    this.#unlogged = 0;
  }

  /** Milliseconds between the first and the last failure since a write went through. */
  get durationMs(): number {
    return this.#message === undefined ? 0 : this.#lastAt - this.#firstAt;
  }

  /** The last failure while it lasts, for people. */
  get message(): string | undefined {
    return this.#message;
  }

  /** The same, unless nothing was written for so long that it says nothing of now. */
  get recentMessage(): string | undefined {
    return this.#clock.monotonicMs() - this.#lastAt > forgottenAfterMs ? undefined : this.#message;
  }
}
