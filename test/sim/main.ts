/**
 * `make sim`: lives of random worlds, in which the real roles run against simulated API servers, network and clocks
 * (world.ts, life.ts).
 *
 *   MINUTES=1 how long to hunt for a broken floor SEED=1 the first seed; with MINUTES=0 the only one ONLY=a,b these
 *   fault classes (plan.ts) instead of those that the seed draws; "none" = no faults PLAN='{…}' other fields of the
 *   plan, as a shrinker prints them REPORT=1 instead: every algorithm under every fault class; SEEDS=20 lives for each,
 *   FORMAT=markdown for the docs SHRINK=1 instead: the smallest world with the finding of SEED SPEED=1 instead: how
 *   fast the simulator is COVERAGE=1 instead: how much of the product's heart SEEDS=20 lives reach MUTATIONS=1 instead:
 *   whether every deliberate mistake in the product's heart is noticed (mutations/) WORKERS=… default: one for each
 *   core
 *
 * Exits with 1 when something was found, with 2 when a setting is wrong. The last line of a hunt is JSON.
 */
import { coverage } from "./coverage.ts";
import { describeFailure, hunt, replayCommand } from "./hunt.ts";
import { reportMutations } from "./mutations/report.ts";
import { report } from "./report.ts";
import { readSettings, type Settings } from "./settings.ts";
import { shrink } from "./shrink.ts";
import { speed } from "./speed.ts";
import { LifePool } from "./workers/life-pool.ts";
import { type LifeTask, planOf } from "./workers/task.ts";

/** Shrinking ends after so many lives: a few minutes. */
const shrinkTriesMax = 200;

async function run(settings: Settings): Promise<number> {
  switch (settings.mode) {
    case "hunt":
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
      return await reportMutations(settings.workers);
    default:
      return settings.mode satisfies never;
  }
}

async function withPool(settings: Settings, work: (pool: LifePool) => Promise<number>): Promise<number> {
  const pool = new LifePool(settings.minutes === 0 && settings.mode === "hunt" ? 1 : settings.workers);
  try {
    return await work(pool);
  } finally {
    pool.stop();
  }
}

async function shrinkSeed(pool: LifePool, task: LifeTask): Promise<number> {
  const failing = await pool.live(task);
  if (failing.finding === undefined) {
    console.log(`nothing is wrong with seed ${task.seed}: there is nothing to shrink`);
    return 0;
  }
  console.log(failing.finding);
  const { smallest, tries } = await shrink(failing, {
    live: (candidate) => pool.live(candidate),
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
