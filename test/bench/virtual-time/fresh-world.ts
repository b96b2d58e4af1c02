/**
 * One PodProtector, its webhook and its aggregator in virtual time (test/sim): how long the quota of a deletion that
 * was carried out is held, and what counting costs in a wave. A module of its own, so that fresh-counts.ts can load it
 * with a rule switched off.
 */
import { runCommand, startStage } from "../../sim/scenarios/commands/commands.ts";
import { type Stage } from "../../sim/scenarios/commands/stage.ts";

export interface Freshness {
  /** From the answer to a deletion, whose pod terminates then, until its admission is settled in the core. */
  readonly returnsMs: readonly number[];
  /** Status writes of the aggregator for each deletion of a wave; and with those that met a conflict. */
  readonly waveWrites: number;
  readonly waveAttempts: number;
}

const singleCount = 30;
const waveCount = 400;
/** 250 deletions a second. */
const wavePeriodMs = 4;
/** Longer than an aggregation rate. */
const quietMs = 3_000;
const settledWithinMs = 60_000;

export async function measureFreshness(): Promise<Freshness> {
  const singles = Array.from({ length: singleCount }, (_, index) => `single-${index}`);
  const wave = Array.from({ length: waveCount }, (_, index) => `wave-${index}`);
  const world = ["world", `pods=${["left", ...singles, ...wave].join()}`, "min=1", "update-trigger"];
  const stage = await startStage(commandOf(world), "observed");
  const returnsMs: number[] = [];
  for (const pod of singles) {
    await run(stage, ["delete", pod], "allowed");
    returnsMs.push(await untilSettled(stage));
    await stage.advance(quietMs);
  }
  stage.counters.clear();
  const counts = new Set<string | undefined>();
  for (const pod of wave) {
    await run(stage, ["delete", pod, "asked"], "asked");
    await stage.advance(wavePeriodMs);
    counts.add(stage.checker?.object?.status?.cells[0]?.aggregation?.countedAt);
  }
  for (const pod of wave) await run(stage, ["answer", pod], "allowed");
  await untilSettled(stage);
  // The first is from before the wave.
  const waveWrites = (counts.size - 1) / waveCount;
  return { returnsMs, waveWrites, waveAttempts: (stage.counters.get("writes") ?? 0) / waveCount };
}

function commandOf(words: readonly string[]) {
  const [verb = "", ...others] = words;
  return { place: "bench", verb, words: others, expected: undefined };
}

async function run(stage: Stage, words: readonly string[], wanted: string): Promise<void> {
  const outcome = await runCommand(stage, commandOf(words));
  if (outcome !== wanted) throw new Error(`${words.join(" ")} -> ${outcome}`);
}

/** Resolves to how long it took. */
async function untilSettled(stage: Stage): Promise<number> {
  const { kernel } = stage.world;
  const beganMs = kernel.nowMs;
  const isSettled = (): boolean => stage.checker?.weight() === 0;
  await kernel.run(beganMs + settledWithinMs, isSettled);
  if (!isSettled()) throw new Error(`not settled after ${settledWithinMs} ms`);
  return kernel.nowMs - beganMs;
}
