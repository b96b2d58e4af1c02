/**
 * Cells of 20,000 and 100,000 pods under the aggregator: what a pod costs in memory and an event in CPU time, how large
 * the process is, how long it takes from its start to the first counts, and a standby from its Lease to its first
 * write.
 */
import { setTimeout as delay } from "node:timers/promises";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { messageOf, startChild } from "../processes/child.ts";
import { CellProcesses, residentBytes } from "./cell-processes.ts";
import type { CellFigures } from "./cell-reader.ts";
import { eventsOfRound, podsOfWorkload } from "./cell-shape.ts";
import { type ProductProcess } from "../processes/products.ts";
import { defaultRate } from "../generator/generator-run.ts";
import { type Row } from "../row.ts";

type Say = (line: string) => void;

const sizes = [20_000, 100_000] as const;
const heapBytesOfPodMax = 500;
const eventsPerSecondMin = 50_000;
const residentMax: Readonly<Record<(typeof sizes)[number], number>> = { 20_000: 150e6, 100_000: 260e6 };
const failOverMsMax = 2_000;
/** A tenth of the cell in the first case. */
const roundsOfChurn = 20;
/** Garbage that is left alone is collected, and pages are given back. */
const settleMs = 15_000;
/** Measured 100 s for a large cell on a busy machine. */
const limitMs = 600_000;
/** After a start, first counts wait for that: the default of --aggregator-settle-window. */
const settleWindowSeconds = 75;
const pollMs = 10;
/** The Lease lasts 15 s. */
const takeOverLimitMs = 120_000;

export async function measureCell(say: Say): Promise<Row[]> {
  const rows = await measureReaders(say);
  for (const size of sizes) rows.push(...(await measureProcess(size, say)));
  return rows;
}

async function measureReaders(say: Say): Promise<Row[]> {
  const pods = sizes[1];
  say(`${pods} pods and events in one process: an informer over a Map of decoded pods`);
  const bare = await read(pods, "bare");
  say(`${pods} pods and events in one process: the aggregator`);
  const own = await read(pods, "aggregator");
  const perSecond = ({ cpuMicrosOfEvent }: CellFigures): number => 1e6 / cpuMicrosOfEvent;
  const rate = (figures: CellFigures): string => Math.round(perSecond(figures)).toLocaleString("en");
  return [
    {
      what: `heap for each of ${pods / 1000}k pods of the aggregator: store, indexes, matching`,
      figure: `${own.heapBytesOfPod.toFixed(0)} B`,
      comparedWith: `at most ${heapBytesOfPodMax} B`,
      ratio: heapBytesOfPodMax / own.heapBytesOfPod,
      goal: 1,
      besides: [`a Map of decoded pods: ${bare.heapBytesOfPod.toFixed(0)} B`],
    },
    {
      what: "pod events through decoding, store, index and match, by CPU time of one core",
      figure: `${rate(own)}/s`,
      comparedWith: `at least ${eventsPerSecondMin.toLocaleString("en")}/s`,
      ratio: perSecond(own) / eventsPerSecondMin,
      goal: 1,
      besides: [
        `the same informer over a Map of decoded pods: ${rate(bare)}/s`,
        `the list: CPU ${(own.cpuMsOfList / 1000).toFixed(1)} s, over a Map ${(bare.cpuMsOfList / 1000).toFixed(1)} s`,
      ],
    },
  ];
}

async function read(pods: number, kind: "aggregator" | "bare"): Promise<CellFigures> {
  const options = { execArgv: ["--expose-gc"] };
  const child = startChild(new URL("cell-reader.ts", import.meta.url), [String(pods), kind], options);
  const figures = await messageOf<CellFigures>(child, limitMs);
  child.disconnect();
  return figures;
}

async function measureProcess(pods: (typeof sizes)[number], say: Say): Promise<Row[]> {
  say(`a cell of ${pods} pods`);
  const cell = await CellProcesses.start(pods);
  try {
    const startMs = performance.now();
    const leader = await cell.startAggregator("aggregator");
    const written = async (count: number): Promise<number> => {
      await waitFor(`${count} counts are written`, limitMs, async () => (await cell.statusWrites()) >= count);
      return performance.now() - startMs;
    };
    const firstMs = await written(1);
    say("the first counts are written");
    const allMs = await written(pods / podsOfWorkload);
    say(`all counts are written, ${roundsOfChurn * eventsOfRound} events`);
    await cell.order({ do: "churn", rounds: roundsOfChurn });
    await delay(settleMs);
    const resident = residentBytes(leader.pid);
    const { heapBytes, residentBytes: collected, peakBytes } = await leader.usage();
    say("its leader is killed");
    const { leaseMs, writeMs } = await measureFailOver(cell, leader, pods);
    const size = `${pods / 1000}k pods`;
    const rate = Math.max(0, (pods / podsOfWorkload - defaultRate.burst) / defaultRate.qps);
    return [
      {
        what: `an aggregator of ${size}: resident, after ${roundsOfChurn * eventsOfRound} events and a rest`,
        figure: megabytes(resident),
        comparedWith: `at most ${megabytes(residentMax[pods])}`,
        ratio: residentMax[pods] / resident,
        goal: 1,
        besides: [
          `after a collection heap ${megabytes(heapBytes)}, resident ${megabytes(collected)}`,
          `peak ${megabytes(peakBytes)}`,
        ],
      },
      {
        what: `from its start until the first counts of ${size} are written`,
        figure: `${seconds(firstMs)}, all ${pods / podsOfWorkload} counts ${seconds(allMs)}`,
        comparedWith: `the settle window, ${settleWindowSeconds} s, and the default rate of the client, ${rate.toFixed(1)} s`,
        ratio: (settleWindowSeconds + rate) / (allMs / 1000),
      },
      {
        what: `a warm standby of ${size}, from the Lease until its first counts are written`,
        figure: `${writeMs.toFixed(0)} ms`,
        comparedWith: `at most ${failOverMsMax} ms`,
        ratio: failOverMsMax / writeMs,
        goal: 1,
        besides: [`the Lease was taken ${seconds(leaseMs)} after the leader was killed; it lasts 15 s`],
      },
    ];
  } finally {
    await cell.stop();
  }
}

/** How long a warm standby takes from the Lease to its first write, after its leader was killed. */
interface FailOver {
  /** From the death of the leader. */
  readonly leaseMs: number;
  /** From the Lease on. */
  readonly writeMs: number;
}

/** While nobody leads, a pod of the last but one workload is deleted, so that its count has to be written. */
async function measureFailOver(cell: CellProcesses, leader: ProductProcess, pods: number): Promise<FailOver> {
  const standby = await cell.startAggregator("standby");
  await standby.ready(takeOverLimitMs);
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
  const endMs = performance.now() + takeOverLimitMs;
  for (;;) {
    const atMs = performance.now();
    if (await probe()) return atMs;
    if (atMs > endMs) throw new Error(`the standby does not take over within ${takeOverLimitMs} ms`);
    await delay(pollMs);
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
