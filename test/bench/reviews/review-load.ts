/** Sends reviews to webhooks and measures their answers, either as many as are answered or as many as are asked for. */
import { type Pool } from "undici";
import { postReview } from "../../support/review-post.ts";

export interface Answered {
  readonly latencyMs: number;
  readonly isAllowed: boolean;
  /** What a refusal says; "" for an admission. */
  readonly refusal: string;
}

export interface Load {
  readonly answered: readonly Answered[];
  readonly elapsedMs: number;
}

/**
 * Each pool has `inFlight` under way, each followed by the next as soon as it is answered. `next` makes the text of a
 * review.
 */
export async function loadClosed(
  pool: Pool,
  options: { readonly inFlight: number; readonly durationMs: number; readonly next: () => string },
): Promise<Load> {
  const { inFlight, durationMs, next } = options;
  const answered: Answered[] = [];
  const startMs = performance.now();
  const loop = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) answered.push(await review(pool, next()));
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return { answered, elapsedMs: performance.now() - startMs };
}

/**
 * `perSecond` reviews at equal distances, whether or not earlier ones have been answered; latencies count from when
 * each was due.
 */
export async function loadOpen(
  pool: Pool,
  options: { readonly perSecond: number; readonly durationMs: number; readonly next: () => string },
): Promise<Load> {
  const { perSecond, durationMs, next } = options;
  const running: Promise<Answered>[] = [];
  const startMs = performance.now();
  const count = Math.round((perSecond * durationMs) / 1000);
  for (let index = 0; index < count; index += 1) {
    const dueMs = startMs + (index * 1000) / perSecond;
    // A timer of Node is late by up to a millisecond or two; what is overdue is sent at once.
    while (performance.now() < dueMs) await new Promise((resolve) => setTimeout(resolve, 1));
    running.push(review(pool, next(), dueMs));
  }
  const answered = await Promise.all(running);
  return { answered, elapsedMs: performance.now() - startMs };
}

async function review(pool: Pool, text: string, sinceMs = performance.now()): Promise<Answered> {
  const answer = await postReview(pool, { path: "/c1?timeout=10s", text });
  const latencyMs = performance.now() - sinceMs;
  const isAllowed = answer.includes('"allowed":true');
  return { latencyMs, isAllowed, refusal: isAllowed ? "" : messageOf(answer) };
}

function messageOf(answer: string): string {
  const { response } = JSON.parse(answer) as { readonly response: { readonly status?: { readonly message?: string } } };
  return response.status?.message ?? "";
}
