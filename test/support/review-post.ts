/** Posts a review to a webhook as an API server does, without a second try. */
import { type Dispatcher } from "undici";

export interface ReviewPost {
  /** Path and query. */
  readonly path: string;
  /** The AdmissionReview as JSON text. */
  readonly text: string;
  /** Where to, for a dispatcher that is not of one server. */
  readonly origin?: string;
  /** Ends a post whose answer does not come; default: undici's. */
  readonly timeoutMs?: number;
}

/** Resolves to the text of the answer; rejects when it is not HTTP 200. */
export async function postReview(
  dispatcher: Dispatcher,
  { path, text, origin, timeoutMs }: ReviewPost,
): Promise<string> {
  const { statusCode, body } = await dispatcher.request({
    method: "POST",
    path,
    headers: { "content-type": "application/json" },
    body: text,
    ...(origin === undefined ? {} : { origin }),
    ...(timeoutMs === undefined ? {} : { headersTimeout: timeoutMs, bodyTimeout: timeoutMs }),
  });
  const answer = await body.text();
  if (statusCode !== 200) throw new Error(`a review is answered HTTP ${statusCode}: ${answer}`);
  return answer;
}
