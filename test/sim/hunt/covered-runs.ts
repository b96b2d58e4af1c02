/**
 * The runs that `make sim COVERAGE=1` measures: a test file, because Node's test runner is what measures branches. SEED
 * and SEEDS say which. For each seed:
 * - the run of a hunt;
 * - one in which all happens that can, also what breaks promises by design;
 * - one of another algorithm, in turn.
 * Besides, each named scenario once, for what happens too rarely by chance.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runWorld } from "../run.ts";
import { type FaultClass, faultClasses, onDemand } from "../fault-classes.ts";
import { type Plan } from "../plan.ts";
import { algorithms } from "./report.ts";
import { play } from "../scenarios/player.ts";
import { readScenarios } from "../scenarios/scenario-file.ts";

const firstSeed = Number(process.env["SEED"]);
const seeds = Number(process.env["SEEDS"]);
const everything = new Set<FaultClass>([...faultClasses, ...onDemand]);
const others = algorithms.filter((algorithm) => algorithm !== "observed");

/** What a seed draws rarely takes turns here. */
function wildPlan(seed: number): Partial<Plan> {
  return {
    hasGenerator: seed % 3 !== 0,
    evictedPods: ["map", "single", "map", "none"][seed % 4] ?? "map",
    offersWatchList: seed % 2 === 0,
    servesOnlyItsCells: seed % 2 === 0,
    hasSmallLimits: seed % 3 === 0,
    ...(seed % 4 === 1 ? { forbidsHeartbeats: true, loss: "none" } : {}),
    chaosMs: 180_000,
  };
}

for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
  test(`the world of seed ${seed} breaks no rule`, async () => {
    const { failure } = await runWorld({ seed });
    assert.equal(failure, undefined);
  });
  test(`the world of seed ${seed} runs with every fault class`, async (t) => {
    const { failure } = await runWorld({ seed, only: everything, plan: wildPlan(seed) });
    if (failure !== undefined) t.diagnostic(failure.message);
  });
  test(`the world of seed ${seed} runs by another algorithm`, async (t) => {
    const { failure } = await runWorld({ seed, algorithm: others[seed % others.length] ?? "clock" });
    if (failure !== undefined) t.diagnostic(failure.message);
  });
}

for (const scenario of readScenarios()) {
  test(`the scenario ${scenario.name} holds`, async () => {
    const { findings } = await play(scenario, "observed");
    assert.deepEqual(findings, []);
  });
}
