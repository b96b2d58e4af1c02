/**
 * `make sim`: lives of random worlds above the pure core (test/core/floor-world.ts), each from a seed of its own, until the time is up.
 * Exits with 1 when a life broke its floor or kept quota after healing, and says how to live it again. The last line is JSON.
 *
 *   MINUTES=1      how long
 *   SEED=1         the first seed; with MINUTES=0 the only one
 */
import { heal, healedWithinMs, run } from "../core/floor-life.ts";

const secondMs = 1000;
const minuteMs = 60 * secondMs;
/** A broken rule breaks many lives; the first few say enough. */
const violationsMax = 10;

const totals = { worlds: 0, admissionsWithQuota: 0, virtualHours: 0, violations: 0 };

function liveOnce(seed: number): void {
  totals.worlds += 1;
  try {
    const world = run(seed);
    const healedMs = heal(world);
    totals.admissionsWithQuota += world.quotaAdmissions;
    totals.virtualHours += world.nowMs / (60 * minuteMs);
    if (healedMs > healedWithinMs) throw new Error(`quota still open ${healedMs} ms after the faults have healed`);
  } catch (error) {
    totals.violations += 1;
    console.log(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    console.log(`  again: make sim SEED=${seed} MINUTES=0`);
  }
}

/** A number of the environment that is at least 0. */
function setting(name: string, preset: number): number {
  const text = process.env[name] ?? "";
  const value = text === "" ? preset : Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  console.error(`sim: ${name}="${text}": a number of at least 0 is needed`);
  process.exit(2);
}

const firstSeed = setting("SEED", 1);
const durationMs = setting("MINUTES", 1) * minuteMs;
const startMs = performance.now();
let toldMs = startMs;
let seed = firstSeed;
do {
  liveOnce(seed);
  seed += 1;
  const nowMs = performance.now();
  if (nowMs - toldMs >= 10 * secondMs) {
    toldMs = nowMs;
    const seconds = Math.round((nowMs - startMs) / secondMs);
    console.log(
      `${seconds} s: ${totals.worlds} worlds, ${totals.admissionsWithQuota} admissions with quota, ${totals.violations} violations`,
    );
  }
} while (performance.now() - startMs < durationMs && totals.violations < violationsMax);

console.log(JSON.stringify({ ...totals, virtualHours: Math.round(totals.virtualHours), lastSeed: seed - 1 }));
process.exitCode = totals.violations === 0 ? 0 : 1;
