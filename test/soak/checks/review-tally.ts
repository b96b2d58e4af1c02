/** Counts what the API servers ask the webhooks and what becomes of it. */
import { type CallWebhook, asObject } from "../../double/index.ts";
import { type Stalls } from "./stalls.ts";

export interface Reviews {
  readonly admitted: number;
  readonly refused: number;
  /** Not decided: no answer, or one that says that the webhook itself is in trouble. One line each, the first ones. */
  readonly failed: number;
  readonly failures: readonly string[];
  /** The same, while the machine kept this process from running. */
  readonly starved: number;
}

const failuresKept = 20;
/** Refusals are 4xx. */
const troubleCode = 500;

export class ReviewTally {
  #admitted = 0;
  #refused = 0;
  #failed = 0;
  #starved = 0;
  readonly #failures: string[] = [];
  readonly #stalls: Stalls;
  readonly #nowMs: () => number;

  /** `nowMs` is the clock of the stalls. */
  constructor(stalls: Stalls, nowMs: () => number) {
    this.#stalls = stalls;
    this.#nowMs = nowMs;
  }

  get reviews(): Reviews {
    return {
      admitted: this.#admitted,
      refused: this.#refused,
      failed: this.#failed,
      failures: this.#failures,
      starved: this.#starved,
    };
  }

  /** The same calls, counted. */
  count(call: CallWebhook): CallWebhook {
    return async (webhook, review, timeoutMs) => {
      const beganMs = this.#nowMs();
      try {
        const answer = await call(webhook, review, timeoutMs);
        const { allowed, status } = asObject(asObject(answer)["response"]);
        const { code, message } = asObject(status);
        if (allowed === true) this.#admitted += 1;
        else if (typeof code === "number" && code >= troubleCode) this.#fail(beganMs, `${code}: ${String(message)}`);
        else this.#refused += 1;
        return answer;
      } catch (error) {
        this.#fail(beganMs, error instanceof Error ? error.message : String(error));
        throw error;
      }
    };
  }

  #fail(beganMs: number, what: string): void {
    if (this.#stalls.hit(beganMs)) {
      this.#starved += 1;
      return;
    }
    this.#failed += 1;
    if (this.#failures.length < failuresKept) this.#failures.push(what);
  }
}
