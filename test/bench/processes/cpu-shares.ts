/**
 * Who used the CPU during a measurement: the webhooks, the API server with its etcd, and the load generator, which is
 * this process.
 */
import { readFileSync } from "node:fs";

type Processes = readonly { readonly pid: number }[];

/** CPU time so far, in milliseconds. */
interface CpuTimes {
  readonly webhookMs: number;
  readonly apiServerMs: number;
  readonly loadMs: number;
}

/** USER_HZ of Linux, fixed for programs: 100 ticks a second. */
const msPerTick = 10;

/** `cluster`: the processes of the control plane. */
export function cpuTimes(webhooks: Processes, cluster: Processes): CpuTimes {
  const { user, system } = process.cpuUsage();
  return { webhookMs: cpuMsOf(webhooks), apiServerMs: cpuMsOf(cluster), loadMs: (user + system) / 1000 };
}

/** CPU time of these processes so far. */
export function cpuMsOf(all: Processes): number {
  return all.reduce((ms, { pid }) => ms + ticksOf(pid) * msPerTick, 0);
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
