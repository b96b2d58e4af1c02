/** What the cluster sees of the replica meanwhile: its probes, as a kubelet sends them, its memory, its scrapes. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { get } from "../../scripts/role-process.ts";
import { MetricsText } from "../e2e/clusters/metrics-text.ts";
import { type PodseidonPorts } from "../e2e/fleet/process.ts";

const everyMs = 1_000;
const scrapeEvery = 5;

export interface Observed {
  /** Probes that failed; a kubelet restarts a replica after three of liveness in a row. */
  readonly unlive: number;
  readonly unready: number;
  readonly peakMB: number;
  readonly scrapeMB: number;
}

const at = (port: number, path: string): string => `http://127.0.0.1:${port}${path}`;

async function isOK(port: number, path: string): Promise<boolean> {
  // No answer within its five seconds is a failure, as with a kubelet.
  return get(at(port, path)).then(
    ({ code }) => code === 200,
    () => false,
  );
}

function residentMB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? Number.NaN) / 1024;
}

export async function observe(ports: PodseidonPorts, pid: number, seconds: number): Promise<Observed> {
  const seen = { unlive: 0, unready: 0, peakMB: 0, scrapeMB: 0 };
  const endMs = performance.now() + seconds * 1000;
  for (let turn = 0; performance.now() < endMs; turn += 1) {
    seen.peakMB = Math.max(seen.peakMB, residentMB(pid));
    const [isLive, isReady] = await Promise.all([isOK(ports.health, "/livez"), isOK(ports.health, "/readyz")]);
    if (!isLive) seen.unlive += 1;
    if (!isReady) seen.unready += 1;
    if (turn % scrapeEvery === 0) {
      const { text } = await get(at(ports.metrics, "/metrics"));
      seen.scrapeMB = Math.max(seen.scrapeMB, text.length / 1e6);
    }
    await delay(everyMs);
  }
  return seen;
}

/** The used heap, when it has come below `limitMB`, or as it is when the patience is at its end. */
export async function heapAfter(ports: PodseidonPorts, limitMB: number, patienceMs: number): Promise<number> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const metrics = new MetricsText((await get(at(ports.metrics, "/metrics"))).text);
    const usedMB = (metrics.value("nodejs_heap_size_used_bytes") ?? Number.NaN) / 1e6;
    if (usedMB < limitMB || performance.now() > endMs) return usedMB;
    await delay(everyMs);
  }
}
