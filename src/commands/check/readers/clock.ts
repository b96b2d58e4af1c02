/** Whether an API server answers at all, and its clock beside that of this machine. */
import { type KubeClient } from "../../../kube/kube-client.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type ClockFacts, type Reading } from "../facts.ts";
import { type Reader, readInTime } from "./deadline.ts";

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
