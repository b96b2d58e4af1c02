/**
 * Reviews per second of pods that no PodProtector selects: nearly all reviews of a fleet. Compared with a bare server
 * in the same run, with and without TLS.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { Pool } from "undici";
import { createPem, writePem } from "../../unit/server/certificates.ts";
import { ask, messageOf, startChild } from "../processes/child.ts";
import { deletionReview } from "./review-text.ts";
import { quantile, type Row } from "../row.ts";

/** Connections that are kept, each with one review at a time, as an API server has them. */
const inFlight = 64;
const roundMs = 2000;
const rounds = 5;
/**
 * Until the compiler has seen enough. Counted, because on a busy machine some seconds are too few reviews, and the
 * webhook, which has more code than the bare server, would be measured half compiled.
 */
const warmUpReviews = 15_000;
const answerLimitMs = 20_000;

interface Server {
  readonly pool: Pool;
  /** CPU time so far, in microseconds. */
  cpuMicros(): Promise<number>;
  stop(): void;
}

interface Load {
  readonly perSecond: number;
  readonly cpuMicrosEach: number;
  readonly latenciesMs: readonly number[];
}

export async function measureReviews(say: (line: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-bench-"));
  try {
    const pem = await createPem("localhost");
    const { certFile, keyFile } = writePem(folder, pem);
    return [await compare("HTTP", [], undefined, say), await compare("HTTPS", [certFile, keyFile], pem.cert, say)];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function compare(
  scheme: "HTTP" | "HTTPS",
  files: readonly string[],
  ca: string | undefined,
  say: (line: string) => void,
): Promise<Row> {
  const webhook = await startServer("webhook", files, ca);
  const bare = await startServer("bare", files, ca);
  const body = JSON.stringify(deletionReview("stranger-5d4f8c7b9d-x2x4z", "nobody"));
  const loads = { webhook: [] as Load[], bare: [] as Load[] };
  try {
    const [own, other] = [await answerOf(webhook.pool, body), await answerOf(bare.pool, body)];
    if (own !== other) throw new Error(`different answers are compared: ${own} and ${other}`);
    await warmUp(webhook, body);
    await warmUp(bare, body);
    // In turns, so that what else the machine does hits both.
    for (let round = 1; round <= rounds; round += 1) {
      say(`unmatched reviews over ${scheme}: round ${round} of ${rounds}`);
      loads.webhook.push(await load(webhook, body, roundMs));
      loads.bare.push(await load(bare, body, roundMs));
    }
  } finally {
    webhook.stop();
    bare.stop();
  }
  const cpuRatios = loads.webhook.map(
    ({ cpuMicrosEach }, round) => (loads.bare[round]?.cpuMicrosEach ?? Number.NaN) / cpuMicrosEach,
  );
  const ratios = loads.webhook.map(({ perSecond }, round) => perSecond / (loads.bare[round]?.perSecond ?? Number.NaN));
  return {
    what:
      `unmatched reviews of ${(body.length / 1000).toFixed(1)} kB over ${scheme}, 10,000 protectors, ` +
      `${inFlight} in flight`,
    figure: figureOf(loads.webhook),
    comparedWith: `bare node:${scheme.toLowerCase()} ${figureOf(loads.bare)}`,
    ratio: quantile(ratios, 0.5),
    goal: 0.85,
    besides: [
      `ratio of the CPU time each: ${quantile(cpuRatios, 0.5).toFixed(2)}; by round: ` +
        ratios.map((ratio) => ratio.toFixed(2)).join(", "),
    ],
  };
}

function figureOf(loads: readonly Load[]): string {
  const perSecond = Math.round(
    quantile(
      loads.map((one) => one.perSecond),
      0.5,
    ),
  );
  const cpuMicros = quantile(
    loads.map((one) => one.cpuMicrosEach),
    0.5,
  );
  const latencies = loads.flatMap(({ latenciesMs }) => latenciesMs);
  const [p50, p99] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
  return `${perSecond}/s, ${cpuMicros.toFixed(1)} µs of CPU each, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
}

async function startServer(
  kind: "webhook" | "bare",
  files: readonly string[],
  ca: string | undefined,
): Promise<Server> {
  const child = startChild(new URL("review-server.ts", import.meta.url), [kind, ...files]);
  const { port } = await messageOf<{ port: number }>(child, answerLimitMs);
  const pool = new Pool(`${ca === undefined ? "http" : "https"}://localhost:${port}`, {
    connections: inFlight,
    connect: { family: 4, ...(ca !== undefined && { ca }) },
  });
  return {
    pool,
    cpuMicros: async () => (await ask<{ cpuMicros: number }>(child, "usage", answerLimitMs)).cpuMicros,
    stop() {
      void pool.destroy();
      child.disconnect();
    },
  };
}

async function warmUp(server: Server, body: string): Promise<void> {
  const each = async (): Promise<void> => {
    for (let sent = 0; sent < warmUpReviews / inFlight; sent += 1) await answerOf(server.pool, body);
  };
  await Promise.all(Array.from({ length: inFlight }, each));
}

async function load(server: Server, body: string, durationMs: number): Promise<Load> {
  const latenciesMs: number[] = [];
  const cpuMicrosBefore = await server.cpuMicros();
  const startMs = performance.now();
  const one = async (): Promise<void> => {
    while (performance.now() - startMs < durationMs) {
      const sentMs = performance.now();
      await answerOf(server.pool, body);
      latenciesMs.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  const elapsedMs = performance.now() - startMs;
  const cpuMicros = (await server.cpuMicros()) - cpuMicrosBefore;
  return {
    perSecond: (latenciesMs.length / elapsedMs) * 1000,
    cpuMicrosEach: cpuMicros / latenciesMs.length,
    latenciesMs,
  };
}

async function answerOf(pool: Pool, body: string): Promise<string> {
  const { statusCode, body: answer } = await pool.request({
    method: "POST",
    path: "/c1?timeout=10s",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await answer.text();
  if (statusCode !== 200 || !text.includes('"allowed":true')) throw new Error(`answered ${statusCode}: ${text}`);
  return text;
}
