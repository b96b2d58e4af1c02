/** How long a warm standby takes from the Lease to its first write, after its leader was killed. */
import { setTimeout as delay } from "node:timers/promises";
import { type CellProcesses } from "./cell-processes.ts";
import { podsOfWorkload } from "./cell-shape.ts";
import { type ProductProcess } from "../processes/product-process.ts";

interface FailOver {
  /** From the death of the leader. */
  readonly leaseMs: number;
  /** From the Lease on. */
  readonly writeMs: number;
}

const pollMs = 10;
/** The Lease lasts 15 s. */
const limitMs = 120_000;

/** While nobody leads, a pod of the last but one workload is deleted, so that its count has to be written. */
export async function measureFailOver(cell: CellProcesses, leader: ProductProcess, pods: number): Promise<FailOver> {
  const standby = await cell.startAggregator("standby");
  await standby.ready(limitMs);
  const before = await cell.leaseHolder();
  const workload = pods / podsOfWorkload - 2;
  const startMs = performance.now();
  process.kill(leader.pid, "SIGKILL");
  await cell.order({ do: "remove", pod: workload * podsOfWorkload });
  const leaseMs = await firstTime(async () => ![before, undefined, ""].includes(await cell.leaseHolder()));
  const writtenMs = await firstTime(async () => (await cell.totalOf(workload)) === podsOfWorkload - 1);
  await standby.stop();
  return { leaseMs: leaseMs - startMs, writeMs: writtenMs - leaseMs };
}

/** When the probe was asked for the first time that it was true. */
async function firstTime(probe: () => Promise<boolean>): Promise<number> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const atMs = performance.now();
    if (await probe()) return atMs;
    if (atMs > endMs) throw new Error(`the standby does not take over within ${limitMs} ms`);
    await delay(pollMs);
  }
}
