/**
 * `make sim`: runs of random worlds, in which the real roles run against simulated API servers, network and clocks
 * (world.ts, run.ts).
 *
 *   MINUTES=1     how long to hunt for a broken floor
 *   SEED=1        the first seed; with MINUTES=0 the only one
 *   ONLY=a,b      these fault classes (plan.ts) instead of those that the seed draws; "none" = no faults
 *   PLAN='{…}'    other fields of the plan, as a shrinker prints them
 *   REPORT=1      instead: every algorithm under every fault class; SEEDS=20 runs for each; FORMAT=markdown
 *   SHRINK=1      instead: the smallest world with the finding of SEED
 *   SPEED=1       instead: how fast the simulator is
 *   COVERAGE=1    instead: how much of the product's core logic the runs of SEEDS=20 seeds reach
 *   MUTATIONS=1   instead: whether every deliberate mistake in the core logic is noticed (mutations/)
 *   WORKERS=…     default: one for each core
 *
 * Exits with 1 when something was found, with 2 when a setting is wrong. The last line of a hunt is JSON.
 */
import { coverage } from "./hunt/coverage.ts";
import { describeFailure, hunt, replayCommand } from "./hunt/hunt.ts";
import { reportMutations } from "./mutations/report.ts";
import { report } from "./hunt/report.ts";
import { previousRelease } from "./processes/previous-release.ts";
import { readSettings, type Settings } from "./hunt/settings.ts";
import { shrink } from "./hunt/shrink.ts";
import { speed } from "./hunt/speed.ts";
import { RunPool } from "./workers/run-pool.ts";
import { type RunTask, planOf } from "./workers/task.ts";

/** Shrinking ends after so many runs: a few minutes. */
const shrinkTriesMax = 200;

async function run(settings: Settings): Promise<number> {
  switch (settings.mode) {
    case "hunt":
      await prepareUpgrades();
      return await withPool(settings, (pool) => hunt(pool, settings));
    case "report":
      return await withPool(settings, (pool) => report(pool, settings));
    case "shrink":
      return await withPool(settings, (pool) => shrinkSeed(pool, { ...settings.overrides, seed: settings.firstSeed }));
    case "speed":
      await speed();
      return 0;
    case "coverage":
      return coverage(settings.firstSeed, settings.seeds);
    case "mutations":
      await prepareUpgrades();
      return await reportMutations(settings.workers);
    default:
      return settings.mode satisfies never;
  }
}

/** Once for all workers, and before the time of the hunt begins. */
async function prepareUpgrades(): Promise<void> {
  const previous = await previousRelease();
  if (!previous.isThere) console.error(`sim: NO WORLD IS UPGRADED: ${previous.why}`);
}

async function withPool(settings: Settings, work: (pool: RunPool) => Promise<number>): Promise<number> {
  const pool = new RunPool(settings.minutes === 0 && settings.mode === "hunt" ? 1 : settings.workers);
  try {
    return await work(pool);
  } finally {
    pool.stop();
  }
}

async function shrinkSeed(pool: RunPool, task: RunTask): Promise<number> {
  const failing = await pool.run(task);
  if (failing.finding === undefined) {
    console.log(`nothing is wrong with seed ${task.seed}: there is nothing to shrink`);
    return 0;
  }
  console.log(failing.finding);
  const { smallest, tries } = await shrink(failing, {
    run: (candidate) => pool.run(candidate),
    say: (line) => console.log(line),
    triesMax: shrinkTriesMax,
  });
  const { faults, severity: _severity, rates: _rates, ...size } = planOf(smallest.task);
  console.log(describeFailure(smallest));
  console.log(`After ${tries} tries: faults ${[...faults].join(" ") || "none"}; ${JSON.stringify(size)}`);
  console.log(replayCommand(smallest.task));
  return 1;
}

const read = readSettings(process.env);
if (read.ok) process.exitCode = await run(read.settings);
else {
  console.error(`sim: ${read.problem}`);
  process.exitCode = 2;
}
