/** The clock of an API server, beside that of this machine. */
import { type KubeClient } from "../../../kube/kube-client.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type ClockFacts, type Reading } from "../facts.ts";
import { type Reader, readInTime } from "./deadline.ts";

/** Everybody who is known to an API server may read it, and it is small. */
const path = "/version";
const resource = { group: "", version: "v1", resource: "version" };
/** Times of HTTP have whole seconds, so the answer was half a second later on average. */
const halfSecond = 500_000;

export async function readClock(client: KubeClient, reader: Reader): Promise<Reading<ClockFacts>> {
  const { clock } = reader;
  let server: EpochMicros | undefined;
  const before = clock.epochMicros();
  const answer = await readInTime({ cluster: client.cluster, verb: "get", resource }, reader, (signal) =>
    client.request({ method: "GET", path, onServerTime: (time) => void (server = time), signal }),
  );
  if (server === undefined) return answer.ok ? { ok: false, why: "its answers have no time" } : answer;
  const own = ((before + clock.epochMicros()) / 2) as EpochMicros;
  return { ok: true, value: { server: (server + halfSecond) as EpochMicros, own } };
}
