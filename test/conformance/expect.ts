/** What cases say about answers. Every failure shows the whole answer. */
import assert from "node:assert/strict";
import { type Answer, type WatchEvent } from "./target.ts";
import { meta, type Thing } from "./thing.ts";

/** An answer other than the one that was needed to go on. */
export class AnswerError extends Error {
  override readonly name = "AnswerError";
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`answered ${answer.code} ${answer.text.slice(0, 600)}`);
    this.answer = answer;
  }
}

/** The body of an answer that must be a success. */
export function ok(answer: Answer, code?: number): Thing {
  const isExpected = code === undefined ? answer.code >= 200 && answer.code <= 299 : answer.code === code;
  if (!isExpected) throw new AnswerError(answer);
  return answer.body;
}

/** Checks that the answer is a metav1.Status of a failure with this code, reason and message; returns it. */
export function refused(answer: Answer, code: number, reason: string, message: string | RegExp): Thing {
  const { body, text } = answer;
  assert.equal(answer.code, code, text);
  assert.equal(body.kind, "Status", text);
  assert.equal(body.apiVersion, "v1", text);
  assert.deepEqual(body.metadata, {}, text);
  assert.equal(body.status, "Failure", text);
  assert.equal(body.code, code, text);
  assert.equal(body.reason ?? "", reason, text);
  if (typeof message === "string") assert.equal(body.message, message);
  else assert.match(body.message ?? "", message);
  return body;
}

/** `TYPE name` of each event. */
export function lines(events: readonly WatchEvent[]): readonly string[] {
  return events.map((event) => (event.type === "BOOKMARK" ? "BOOKMARK" : `${event.type} ${meta(event.object).name}`));
}
