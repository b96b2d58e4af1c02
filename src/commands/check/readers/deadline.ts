/**
 * Each read of a check has a deadline of its own, so that a cluster that does not answer keeps no other waiting.
 *
 * Whether an API server answers at all, and its clock beside that of this machine.
 */
import { type KubeClient } from "../../../kube/kube-client.ts";
import { type Clock, type EpochMicros } from "../../../util/clock.ts";
import { linkedAbort } from "../../../util/linked-abort.ts";
import { type Access, reading } from "../../clusters/reading.ts";
import { type ClockFacts, type Reading } from "../facts.ts";

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

/** Everybody who is known to an API server may read it, and it is small. */
const path = "/version";
const resource = { group: "", version: "v1", resource: "version" };
/** Times of HTTP have whole seconds, so the answer was half a second later on average. */
const halfSecond = 500_000;

export interface Greeting {
  /** Not ok = nobody answers there, or knows us. */
  readonly answers: Reading<unknown>;
  readonly clock: Reading<ClockFacts>;
}

export async function readGreeting(client: KubeClient, reader: Reader): Promise<Greeting> {
  const { clock } = reader;
  let server: EpochMicros | undefined;
  const before = clock.epochMicros();
  const answers = await readInTime({ cluster: client.cluster, verb: "get", resource }, reader, (signal) =>
    client.request({ method: "GET", path, onServerTime: (time) => void (server = time), signal }),
  );
  if (server === undefined)
    return { answers, clock: answers.ok ? { ok: false, why: "its answers have no time" } : answers };
  const own = ((before + clock.epochMicros()) / 2) as EpochMicros;
  return { answers, clock: { ok: true, value: { server: (server + halfSecond) as EpochMicros, own } } };
}
