/** Each read of a check has a deadline of its own, so that a cluster that does not answer keeps no other waiting. */
import { linkedAbort } from "../../../util/linked-abort.ts";
import { type Clock } from "../../../util/clock.ts";
import { type Access, reading } from "../../clusters/reading.ts";
import { type Reading } from "../facts.ts";

/** It has all that a check reads. */
const role = "podseidon-check";
/** A check is to be over in five seconds, and some of it asks twice. */
export const readMs = 2_000;

export interface Reader {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** `read` gets a signal that aborts at the deadline. Rejects only for programmer errors. */
export async function readInTime<T>(
  access: Access,
  { clock, signal }: Reader,
  read: (signal: AbortSignal) => Promise<T>,
  limitMs = readMs,
): Promise<Reading<T>> {
  using own = linkedAbort(signal);
  let isLate = false;
  const timer = clock.setTimer(limitMs, () => {
    isLate = true;
    own.abort();
  });
  try {
    const answer = await reading({ role, ...access }, () => read(own.signal));
    if (answer.ok) return answer;
    return { ok: false, why: isLate ? `${access.cluster} gave no answer within ${limitMs / 1_000} s` : answer.problem };
  } finally {
    timer.cancel();
  }
}
