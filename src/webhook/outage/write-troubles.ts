/** Which cores do not take status writes, for the answers of reviews and for the log. */
import { type KubeError } from "../../kube/kube-client.ts";
import { type Clock } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";

/** A core that is away fails hundreds of writes a second; one line a minute tells that and how many. */
const logIntervalMs = 60_000;
/** When nothing was written for so long, an earlier failure says nothing of the present one. */
const forgottenAfterMs = 30_000;

interface Trouble {
  /** The last failure while it lasts. */
  message: string | undefined;
  /** The first and the last failure of the present row. */
  sinceMs: number;
  lastMs: number;
  /** Failures that no line has told yet. */
  untold: number;
  nextLogMs: number;
}

export class WriteTroubles {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By core. */
  readonly #troubles = new Map<string, Trouble>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** A status write, or the read before it, failed for a reason other than a lost race or a deleted object. */
  failed(core: string, error: KubeError): void {
    const nowMs = this.#clock.monotonicMs();
    const trouble = this.#troubles.get(core) ?? {
      message: undefined,
      sinceMs: nowMs,
      lastMs: nowMs,
      untold: 0,
      nextLogMs: nowMs,
    };
    this.#troubles.set(core, trouble);
    if (trouble.message === undefined || nowMs - trouble.lastMs > forgottenAfterMs) trouble.sinceMs = nowMs;
    trouble.lastMs = nowMs;
    trouble.message = error.message;
    trouble.untold++;
    if (nowMs < trouble.nextLogMs) return;
    this.#logger.warn("Status writes fail, so pod deletions cannot be recorded", {
      core,
      failures: trouble.untold,
      err: error,
    });
    trouble.untold = 0;
    trouble.nextLogMs = nowMs + logIntervalMs;
  }

  /** A status write went through. */
  recovered(core: string): void {
    const trouble = this.#troubles.get(core);
    if (trouble !== undefined) trouble.message = undefined;
  }

  /** Milliseconds between the first and the last failure since a write went through. */
  lastsMs(core: string): number {
    const trouble = this.#troubles.get(core);
    return trouble?.message === undefined ? 0 : trouble.lastMs - trouble.sinceMs;
  }

  /** The last failure of the core while it lasts, for people. */
  last(core: string): string | undefined {
    return this.#troubles.get(core)?.message;
  }
}
