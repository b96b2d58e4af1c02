/**
 * Cells of 20,000 and 100,000 pods under the aggregator: what a pod costs in memory and an event in CPU time, how large
 * the process is, how long it takes from its start to the first counts, and a standby from its Lease to its first
 * write.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { waitFor } from "../../e2e/clusters/wait.ts";
import { CellProcesses, residentBytes } from "./cell-processes.ts";
import type { CellFigures } from "./cell-reader.ts";
import { eventsOfRound, podsOfWorkload } from "./cell-shape.ts";
import { measureFailOver } from "./fail-over.ts";
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
  const child = fork(fileURLToPath(new URL("cell-reader.ts", import.meta.url)), [String(pods), kind], {
    execArgv: ["--expose-gc"],
    stdio: "inherit",
  });
  const [figures] = (await once(child, "message", { signal: AbortSignal.timeout(limitMs) })) as [CellFigures];
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
        comparedWith: `the default rate of the client alone needs ${rate.toFixed(1)} s for all`,
        ratio: rate / (allMs / 1000),
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

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
