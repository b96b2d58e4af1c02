/** Reviews per second of pods that no PodProtector selects: nearly all reviews of a fleet. Compared with a bare server in the same run. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { deleteReview, pod } from "../webhook/support/objects.ts";
import { quantile, type Row } from "./row.ts";

const inFlight = 64;
const roundMs = 3000;
const rounds = 3;
const warmUpMs = 1500;
/** Environment variables make pods as large as they are in reality. */
const paddingBytes = 3000;

interface Server {
  readonly pool: Pool;
  stop(): void;
}

export async function measureReviews(say: (line: string) => void): Promise<Row[]> {
  const webhook = await startServer("webhook");
  const bare = await startServer("bare");
  const body = JSON.stringify(
    deleteReview({ ...pod("stranger", { labels: { app: "nobody" } }), spec: { padding: "x".repeat(paddingBytes) } }),
  );
  const samples = { webhook: [] as number[], bare: [] as number[], latencies: [] as number[] };
  try {
    await load(webhook.pool, body, warmUpMs);
    await load(bare.pool, body, warmUpMs);
    // In turns, so that what else the machine does hits both.
    for (let round = 1; round <= rounds; round += 1) {
      say(`unmatched reviews: round ${round} of ${rounds}`);
      const own = await load(webhook.pool, body, roundMs);
      samples.webhook.push(own.perSecond);
      samples.latencies.push(...own.latenciesMs);
      samples.bare.push((await load(bare.pool, body, roundMs)).perSecond);
    }
  } finally {
    webhook.stop();
    bare.stop();
  }
  const own = quantile(samples.webhook, 0.5);
  const other = quantile(samples.bare, 0.5);
  return [
    {
      what: `unmatched reviews of ${Math.round(body.length / 100) / 10} kB, 10,000 protectors, ${inFlight} in flight`,
      figure: `${Math.round(own)}/s, p50 ${quantile(samples.latencies, 0.5).toFixed(1)} ms, p99 ${quantile(samples.latencies, 0.99).toFixed(1)} ms`,
      comparedWith: `bare node:http ${Math.round(other)}/s`,
      ratio: own / other,
    },
  ];
}

async function startServer(kind: "webhook" | "bare"): Promise<Server> {
  const child = fork(fileURLToPath(new URL("review-server.ts", import.meta.url)), [kind], { stdio: "inherit" });
  const [message] = (await once(child, "message", { signal: AbortSignal.timeout(20_000) })) as [{ port: number }];
  const pool = new Pool(`http://127.0.0.1:${message.port}`, { connections: inFlight });
  return {
    pool,
    stop() {
      void pool.destroy();
      child.disconnect();
    },
  };
}

async function load(
  pool: Pool,
  body: string,
  durationMs: number,
): Promise<{ perSecond: number; latenciesMs: number[] }> {
  const latenciesMs: number[] = [];
  const startMs = performance.now();
  const one = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      const sentMs = performance.now();
      const { statusCode, body: answer } = await pool.request({
        method: "POST",
        path: "/c1?timeout=10s",
        headers: { "content-type": "application/json" },
        body,
      });
      const text = await answer.text();
      if (statusCode !== 200 || !text.includes('"allowed":true')) throw new Error(`answered ${statusCode}: ${text}`);
      latenciesMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return { perSecond: (latenciesMs.length / (performance.now() - startMs)) * 1000, latenciesMs };
}
