/** Counts what the API servers ask the webhooks and what becomes of it. */
import { type CallWebhook, asObject } from "../double/index.ts";

export interface Reviews {
  readonly admitted: number;
  readonly refused: number;
  /** Not decided: no answer, or one that says that the webhook itself is in trouble. One line each, the first ones. */
  readonly failed: number;
  readonly failures: readonly string[];
}

const failuresKept = 20;
/** Refusals are 4xx. */
const troubleCode = 500;

export class ReviewTally {
  #admitted = 0;
  #refused = 0;
  #failed = 0;
  readonly #failures: string[] = [];

  get reviews(): Reviews {
    return { admitted: this.#admitted, refused: this.#refused, failed: this.#failed, failures: this.#failures };
  }

  /** The same calls, counted. */
  count(call: CallWebhook): CallWebhook {
    return async (webhook, review, timeoutMs) => {
      try {
        const answer = await call(webhook, review, timeoutMs);
        const { allowed, status } = asObject(asObject(answer)["response"]);
        const { code, message } = asObject(status);
        if (allowed === true) this.#admitted += 1;
        else if (typeof code === "number" && code >= troubleCode) this.#fail(`${code}: ${String(message)}`);
        else this.#refused += 1;
        return answer;
      } catch (error) {
        this.#fail(error instanceof Error ? error.message : String(error));
        throw error;
      }
    };
  }

  #fail(what: string): void {
    this.#failed += 1;
    if (this.#failures.length < failuresKept) this.#failures.push(what);
  }
}
