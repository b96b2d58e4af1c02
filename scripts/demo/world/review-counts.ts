/** Counts what the API servers ask the webhooks and what they answer. */
import { type CallWebhook, asObject } from "../../../test/double/index.ts";

export interface Reviews {
  readonly admitted: number;
  readonly refused: number;
  /** Sent and not answered yet. */
  readonly waiting: number;
  /** The connection broke or the answer did not come. */
  readonly unanswered: number;
}

/**
 * A confirmation of a deletion that is under way takes no pod away and is not counted. Neither is a dry run, such as
 * the aggregator's question whether deletions are reviewed.
 */
function deletesLivePod(review: unknown): boolean {
  const { oldObject, dryRun } = asObject(asObject(review)["request"]);
  return dryRun !== true && asObject(asObject(oldObject)["metadata"])["deletionTimestamp"] === undefined;
}

export class ReviewCounts {
  #admitted = 0;
  #refused = 0;
  #waiting = 0;
  #unanswered = 0;

  get reviews(): Reviews {
    return {
      admitted: this.#admitted,
      refused: this.#refused,
      waiting: this.#waiting,
      unanswered: this.#unanswered,
    };
  }

  /** Begins to count at 0 again; what waits goes on waiting. */
  restart(): void {
    this.#admitted = 0;
    this.#refused = 0;
    this.#unanswered = 0;
  }

  /** The same calls, counted. */
  count(call: CallWebhook): CallWebhook {
    return async (webhook, review, timeoutMs) => {
      if (!deletesLivePod(review)) return await call(webhook, review, timeoutMs);
      this.#waiting += 1;
      try {
        const answer = await call(webhook, review, timeoutMs);
        if (asObject(asObject(answer)["response"])["allowed"] === true) this.#admitted += 1;
        else this.#refused += 1;
        return answer;
      } catch (error) {
        this.#unanswered += 1;
        throw error;
      } finally {
        this.#waiting -= 1;
      }
    };
  }
}
