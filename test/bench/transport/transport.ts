/**
 * Requests per second of the transport (deadline, rate limit, credentials, metrics, classified errors) against bare
 * undici, which only sends.
 */
import { Agent, request as send } from "undici";
import { createKubeClient } from "../../../src/kube/transport/index.ts";
import { createMetrics } from "../../../src/observability/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { plainCluster } from "../../support/cluster-config.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { messageOf, startChild } from "../processes/child.ts";
import { quantile, type Row } from "../row.ts";

const inFlight = 32;
/** As many as the transport opens for requests. */
const connections = 16;
const roundMs = 1500;
const rounds = 5;
const warmUpMs = 1000;
const startLimitMs = 20_000;
const path = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/default/podprotectors/app/status";

/** Sends a request, reads the answer and decodes it. */
type Call = (method: "GET" | "PUT") => Promise<unknown>;

export async function measureTransport(say: (line: string) => void): Promise<Row[]> {
  const child = startChild(new URL("object-server.ts", import.meta.url));
  const message = await messageOf<{ port: number; text: string }>(child, startLimitMs);
  const server = `http://127.0.0.1:${message.port}`;
  const object: unknown = JSON.parse(message.text);
  const client = await createKubeClient(
    {
      ...plainCluster,
      master: server,
      // Never waits, but takes a token for each request.
      qps: 1_000_000,
      burst: 1_000_000,
      userAgent: "podseidon-bench",
    },
    {
      clock: createSystemClock(),
      rng: createSeededRng(1),
      logger: silentLogger,
      metrics: createMetrics({ ofProcess: false, byNamespace: true, byUser: true }),
    },
    "core",
  );
  const dispatcher = new Agent({ connections });
  const own: Call = (method) => client.request({ method, path, ...(method === "PUT" && { body: object }) });
  const bare: Call = async (method) => {
    const { statusCode, body } = await send(`${server}${path}`, {
      dispatcher,
      method,
      headers: { accept: "application/json", "content-type": "application/json" },
      body: method === "PUT" ? JSON.stringify(object) : null,
    });
    if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
    return await body.json();
  };
  const samples = { own: [] as number[], bare: [] as number[] };
  try {
    await load(own, warmUpMs);
    await load(bare, warmUpMs);
    // In turns, so that what else the machine does hits both.
    for (let round = 1; round <= rounds; round += 1) {
      say(`transport: round ${round} of ${rounds}`);
      samples.own.push(await load(own, roundMs));
      samples.bare.push(await load(bare, roundMs));
    }
  } finally {
    await client.close();
    await dispatcher.destroy();
    child.disconnect();
  }
  const [ownPerSecond, barePerSecond] = [quantile(samples.own, 0.5), quantile(samples.bare, 0.5)];
  return [
    {
      what: `reads and writes of an object of ${Math.round(message.text.length / 100) / 10} kB, ${inFlight} in flight`,
      figure: `transport ${Math.round(ownPerSecond)}/s`,
      comparedWith: `bare undici ${Math.round(barePerSecond)}/s`,
      ratio: ownPerSecond / barePerSecond,
    },
  ];
}

/** Calls per second, every other one a write. */
async function load(call: Call, durationMs: number): Promise<number> {
  const startMs = performance.now();
  let calls = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      await call(calls % 2 === 0 ? "GET" : "PUT");
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return (calls / (performance.now() - startMs)) * 1000;
}
