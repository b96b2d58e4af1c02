/**
 * How a FloorWorld runs: what happens at random in one step, how it heals, and one whole run from a seed.
 */
import assert from "node:assert/strict";
import { type Rng } from "../../../src/util/rng.ts";
import { createSeededRng } from "../../support/seeded-rng.ts";
import { AggregatedWorld } from "./floor-aggregator.ts";
import { type Faults, type FloorWorld, type WorldOptions } from "./floor-world.ts";

const stepsPerWorld = 400;

function optionsOf(rng: Rng, faults: Faults, hasLiar: boolean): WorldOptions {
  const takesVersions = (["nothing", "evictions", "evictions and a Go component"] as const)[Math.floor(rng.next() * 3)];
  const cells = rng.next() < 0.6 ? ["a"] : ["a", "b"];
  const podsPerCell = 2 + Math.floor(rng.next() * 8);
  return {
    cells,
    podsPerCell,
    minAvailable: Math.floor(rng.next() * podsPerCell * cells.length),
    minReadySeconds: rng.next() < 0.5 ? 0 : 30,
    aggregatorsPerCell: rng.next() < 0.7 ? 1 : 2,
    takesVersions: takesVersions ?? "nothing",
    ...(hasLiar && { liar: { cellID: "liar", limit: 1 + Math.floor(rng.next() * podsPerCell) } }),
    faults,
  };
}

function reviewSome(world: FloorWorld): void {
  const batch: Parameters<FloorWorld["review"]>[0][number][] = [];
  const size = world.chance(0.7) ? 1 : 4;
  for (let count = 0; count < size; count += 1) {
    const pod = world.pick(world.livePods());
    if (pod === undefined || batch.some((one) => one.pod === pod)) continue;
    const isVersionless = world.options.takesVersions !== "nothing" && world.chance(0.25);
    const operation = isVersionless ? "evict" : world.chance(0.15) ? "named" : "delete";
    const isStale = operation !== "evict" && world.chance(0.2);
    const record = (isStale ? world.pick(pod.versions) : undefined) ?? pod.record;
    batch.push({ pod, operation, isForced: size === 1 && world.chance(0.04), record });
  }
  if (batch.length > 0) world.review(batch);
}

function commitOne(world: FloorWorld): void {
  const one = world.pick(world.inFlight);
  if (one === undefined) return;
  const mustBeReviewedAgain = !world.commit(one);
  if (mustBeReviewedAgain && !one.pod.record.isTerminating && world.chance(0.7)) {
    world.review([{ pod: one.pod, operation: "delete", isForced: false, record: one.pod.record }]);
  }
}

function changePods(world: FloorWorld): void {
  const pod = world.pick(world.pods.filter((one) => !one.isGone));
  if (pod === undefined) return;
  if (pod.record.isTerminating) {
    if (world.chance(0.5)) world.change(pod, {}, true);
  } else if (world.chance(0.3)) world.change(pod, {});
  else if (!pod.record.isReady) world.change(pod, { isReady: true, readySince: world.now });
  else if (world.chance(0.4)) world.change(pod, { isReady: false, readySince: undefined });
  if (world.livePods().length < world.options.podsPerCell * world.options.cells.length && world.chance(0.7)) {
    world.createPod(world.pick(world.options.cells) ?? "a", world.nowMs / 1000);
  }
}

function moveAggregator(world: AggregatedWorld): void {
  const aggregator = world.pick(world.aggregators);
  if (aggregator === undefined) return;
  const draw = world.rng.next();
  if (draw < 0.25) aggregator.receive(1 + Math.floor(world.rng.next() * 4));
  else if (draw < 0.45) aggregator.watchObjects(1 + Math.floor(world.rng.next() * 3));
  else if (draw < 0.48) aggregator.relist();
  else if (draw < 0.58) aggregator.sendBarrier();
  else if (draw < 0.68) aggregator.sendFence();
  else if (draw < 0.78) aggregator.movePatch();
  else if (draw < 0.785) aggregator.restart();
  else aggregator.aggregate();
}

function step(world: AggregatedWorld): void {
  // Many things happen at the same moment; some wait long.
  if (world.chance(0.5)) world.nowMs += Math.floor(world.rng.next() * (world.chance(0.06) ? 30_000 : 400));
  world.inFlight = world.inFlight.filter(
    (one) => one.diesAtMs > world.nowMs && (one.version === undefined || !world.chance(0.002)),
  );
  const draw = world.rng.next();
  if (draw < 0.2) reviewSome(world);
  else if (draw < 0.27) commitOne(world);
  else if (draw < 0.34) changePods(world);
  else if (draw < 0.37 && world.options.liar !== undefined) world.lie();
  else if (draw < 0.35 && world.options.takesVersions === "evictions and a Go component") world.strip();
  else moveAggregator(world);
}

/**
 * The longest that a healed world may take to be empty: the slowest row is a settle window, then a barrier; a second
 * window when a fence was refused late.
 */
export const healedWithinMs = 75_000 * 2 + 60_000;

/** Faults heal: nothing new is asked for, watches catch up. Returns the milliseconds until no bucket was left. */
export function heal(world: AggregatedWorld): number {
  const startMs = world.nowMs;
  while (world.nowMs - startMs < 400_000) {
    world.inFlight = [];
    for (const aggregator of world.aggregators) {
      aggregator.receive(Infinity);
      aggregator.watchObjects(Infinity);
      aggregator.aggregate();
      aggregator.sendFence();
      aggregator.movePatch(true);
      if (aggregator.wantsBarrier) aggregator.sendBarrier();
    }
    const buckets = world.object.status?.cells.flatMap((cell) => cell.admissionHistory?.buckets ?? []) ?? [];
    if (buckets.length === 0) return world.nowMs - startMs;
    world.nowMs += 500;
  }
  return world.nowMs - startMs;
}

/** One run of the world of that seed. Throws "floor broken…" when an admission took the workload under its floor. */
function run(seed: number, faults: Faults = {}, hasLiar = false): AggregatedWorld {
  const rng = createSeededRng(seed);
  const world = new AggregatedWorld(optionsOf(rng, faults, hasLiar), rng);
  for (let count = 0; count < stepsPerWorld; count += 1) step(world);
  return world;
}

/**
 * No world of the seeds, in which one cell lies, costs the other cells more than a cell can have; and where the
 * workload does not say how many that is, some do.
 */
export function assertLiesAreLimited(seeds: number): void {
  const all = Array.from({ length: seeds }, (_, index) => index + 1);
  const admitted = all.reduce((sum, seed) => sum + run(seed, {}, true).quotaAdmissions, 0);
  assert.ok(admitted > seeds / 2, `only ${admitted} admissions took quota: the worlds are too quiet`);
  assert.ok(
    all.some((seed) => isBroken(seed, { unlimitedCells: true }, true)),
    "lies without a limit cost nothing",
  );
}

/** Whether an admission took the workload of that world under its floor. */
export function isBroken(seed: number, faults: Faults, hasLiar = false): boolean {
  try {
    run(seed, faults, hasLiar);
    return false;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("floor broken")) return true;
    throw error;
  }
}

/** No world of the seeds breaks its floor, and all of them heal; they admit enough to show something. */
export function assertWorldsHold(seeds: number): void {
  let quotaAdmissions = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    try {
      const world = run(seed);
      quotaAdmissions += world.quotaAdmissions;
      const healedMs = heal(world);
      assert.ok(healedMs <= healedWithinMs, `still open after ${healedMs} ms`);
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
  const wanted = (5 * seeds) / 12;
  assert.ok(quotaAdmissions > wanted, `only ${quotaAdmissions} admissions took quota: the worlds are too quiet`);
}
