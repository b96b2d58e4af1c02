/** What a process of the product holds: memory, files and sockets, timers. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type PodseidonProcess } from "../e2e/fleet/process.ts";
import { type Replica } from "./product.ts";
import { grows, leastOfWindows, type Point, secondHalf, type Trend, trendOf } from "./checks/trend.ts";

export interface Usage {
  /** With the buffers beside the heap, after all garbage is collected. */
  readonly heapMB: number;
  readonly residentMB: number;
  /** File descriptors, sockets included. */
  readonly files: number;
  readonly sockets: number;
  /** Timers that would keep the process alive. */
  readonly timers: number;
}

/** A sample of a process that lives since `process` was started. */
export interface Sample {
  readonly name: string;
  readonly pid: number;
  readonly seconds: number;
  readonly usage: Usage;
}

export interface Judgement {
  readonly name: string;
  readonly quantity: keyof Usage;
  readonly trend: Trend;
  readonly grows: boolean;
}

/**
 * What may be more without being a leak. Heap: code that ran for the first time, and histories. Resident: what the
 * allocator has not given back. The others: what a reconnect or a rolling update needs for a moment.
 */
const slack: Usage = { heapMB: 4, residentMB: 48, files: 8, sockets: 8, timers: 8 };
const quantities = Object.keys(slack) as readonly (keyof Usage)[];
/** Garbage is collected twice; a process that is busy has not done so yet, and its sample is not the least. */
const collectMs = 300;

/** One sample of each replica that is not just being started again. */
export async function sampleAll(replicas: readonly Replica[], seconds: number): Promise<readonly Sample[]> {
  const running = replicas.filter(({ isChanging }) => !isChanging);
  for (const { process: child } of running) child.process.signal("SIGUSR2");
  await delay(collectMs);
  const samples = running.map(async ({ name, process: child }): Promise<Sample[]> => {
    try {
      return [{ name, pid: child.process.pid, seconds, usage: await usageOf(child) }];
    } catch {
      // It was told to end meanwhile, or is too busy to answer a scrape: the next sample counts.
      return [];
    }
  });
  return (await Promise.all(samples)).flat();
}

async function usageOf(child: PodseidonProcess): Promise<Usage> {
  const metrics = await child.metrics();
  const value = (name: string, labels = {}): number => metrics.value(name, labels) ?? Number.NaN;
  const active = (type: string): number => metrics.value("nodejs_active_resources", { type }) ?? 0;
  const { pid } = child.process;
  const residentKB = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return {
    heapMB: (value("nodejs_heap_size_used_bytes") + value("nodejs_external_memory_bytes")) / 1e6,
    residentMB: residentKB / 1024,
    files: readdirSync(`/proc/${pid}/fd`).length,
    sockets: active("TCPSocketWrap") + active("TCPServerWrap"),
    timers: active("Timeout"),
  };
}

/** Each quantity of each process over the second half of the run. */
export function judge(samples: readonly Sample[], runSeconds: number): readonly Judgement[] {
  const names = [...new Set(samples.map(({ name }) => name))];
  return names.flatMap((name) => {
    const own = samples.filter((sample) => sample.name === name);
    const pid = own.at(-1)?.pid;
    const living = own.filter((sample) => sample.pid === pid);
    return quantities.map((quantity): Judgement => {
      const points = living.map(({ seconds, usage }): Point => ({ seconds, value: usage[quantity] }));
      const trend = trendOf(leastOfWindows(secondHalf(points, runSeconds)));
      return { name, quantity, trend, grows: grows(trend, slack[quantity]) };
    });
  });
}
