/**
 * Who used the CPU during a measurement: the webhooks, the API server with its etcd, and the load generator, which is
 * this process.
 */
import { readFileSync } from "node:fs";
import { type ManagedProcess } from "../../../scripts/child-processes.ts";
import { type WebhookProcess } from "../real-core/webhook-process.ts";

/** CPU time so far, in milliseconds. */
interface CpuTimes {
  readonly webhookMs: number;
  readonly apiServerMs: number;
  readonly loadMs: number;
}

/** USER_HZ of Linux, fixed for programs: 100 ticks a second. */
const msPerTick = 10;

export class CpuShares {
  readonly #webhooks: readonly WebhookProcess[];
  readonly #cluster: readonly ManagedProcess[];

  /** `cluster`: the processes of the control plane. */
  constructor(webhooks: readonly WebhookProcess[], cluster: readonly ManagedProcess[]) {
    this.#webhooks = webhooks;
    this.#cluster = cluster;
  }

  now(): CpuTimes {
    const { user, system } = process.cpuUsage();
    const sum = (all: readonly { readonly pid: number }[]): number => all.reduce((ms, { pid }) => ms + ticksOf(pid), 0);
    return {
      webhookMs: sum(this.#webhooks) * msPerTick,
      apiServerMs: sum(this.#cluster) * msPerTick,
      loadMs: (user + system) / 1000,
    };
  }
}

/** In per cent of one core; 0 where the host has no /proc. */
export function cpuText(before: CpuTimes, after: CpuTimes, elapsedMs: number): string {
  const percent = (name: keyof CpuTimes): string => `${Math.round((100 * (after[name] - before[name])) / elapsedMs)} %`;
  return (
    `CPU of one core: webhook ${percent("webhookMs")}, API server and etcd ${percent("apiServerMs")}, load ` +
    `generator ${percent("loadMs")}`
  );
}

/** User and system time of a process in clock ticks, 100 a second; 0 where the host has no /proc. */
export function ticksOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name, may hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

/** CPU time of one process so far, and when that was looked at. */
export interface CpuSample {
  readonly ticks: number;
  readonly atMs: number;
}

export function cpuSample(pid: number): CpuSample {
  return { ticks: ticksOf(pid), atMs: performance.now() };
}

/** Of one core, between two samples of the same process. */
export function cpuPercent(before: CpuSample, after: CpuSample): number {
  return (100 * (after.ticks - before.ticks) * msPerTick) / (after.atMs - before.atMs);
}
