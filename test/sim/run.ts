/** The run of a world: it starts, pods are deleted while things go wrong, all heals, and all quota must come back. */
import { uniform } from "../../src/util/rng.ts";
import { Chaos } from "./actors/strikes/chaos.ts";
import { CoreCast } from "./actors/core-cast.ts";
import { Deleters } from "./actors/deleters.ts";
import { Workload } from "./actors/workload.ts";
import { type AccountingChecker } from "./checkers/accounting/accounting.ts";
import { type Exclusion, type ExclusionUse, silenceLimitMs } from "./checkers/accounting/exclusions.ts";
import { settleWindowMs } from "./core.ts";
import { type FaultClass } from "./fault-classes.ts";
import { drawPlan, isDemandedOfUpgrades, type Plan, upgradesLeftOut } from "./plan.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { previousRelease } from "./processes/previous-release.ts";
import { haveBeaten, silentCells, unheardCells } from "./hearing.ts";
import { World, type WorldTotals } from "./world.ts";

/**
 * Watches and leases need seconds; first counts in a cell where nothing moves wait for the bookmark that comes once a
 * minute; and where a cell's clock is far ahead of its aggregator's, pods seem to become available only later.
 */
const startUpMs = 300_000;
/**
 * After the faults: a watch's longest backoff, a lease, then the slowest row of settlement (settle window + 60 s;
 * docs/accounting.md#settlement), once more where a bucket was refreshed at the last moment.
 */
const healingMsMax = 30_000 + 30_000 + 2 * settleWindowMs + 60_000;
/** A deletion of the CRD that hangs in a slow etcd, and then people, who put it back, apply their manifests again. */
const crdBackMsMax = 300_000;
/**
 * The last bucket may have gone with its pod while its settle window still runs; then comes a barrier, and a watch
 * brings a bookmark once a minute.
 */
const restMs = settleWindowMs + 75_000;
/**
 * Where a PodProtector that vanished could not be made again at once, the generator looks again after this part of an
 * hour (src/generator/protectors/recreation.ts), even if it was made in between.
 */
const recreatedHours = 1 / 6;
/** Longer hours pass in no world. */
const longestHourMs = 150_000;
/** New pods become ready, and are counted. */
const refillMs = 30_000;
/**
 * A cell that fell silent during the faults is heard again: the longest backoff of a watch, then the two minutes of
 * docs/accounting.md#silent-cells.
 */
const heardMsMax = 30_000 + 120_000;
/** Long enough for a few pods to be replaced, and for generators to have answered every change. */
const calmMs = 20_000;
/** Of Deployments without pods, when that begins. */
const calmEdits = 4;
/**
 * An aggregator that was shown an old list takes the core for restored, and counts again after the settle window and a
 * bookmark (docs/accounting.md#restores).
 */
const lastTriesMs = settleWindowMs + 75_000;

/** Who acts when all has been mended. */
interface Actors {
  readonly deleters: Deleters;
  readonly workloads: ReadonlyMap<string, Workload>;
  readonly cores: readonly CoreCast[];
}

export interface RunOptions {
  readonly seed: number;
  readonly algorithm?: string;
  /** Only these fault classes, instead of the seed's. */
  readonly only?: ReadonlySet<FaultClass>;
  readonly argv?: readonly string[];
  /** Overrides of what the seed draws: a shrinker's smaller world, or a plain one. */
  readonly plan?: Partial<Plan>;
  /**
   * Called with the world before it runs: for a runner that must end it when its process has an error that no promise
   * carries.
   */
  readonly onWorld?: (world: World) => void;
}

export interface RunResult {
  readonly failure: Error | undefined;
  readonly totals: WorldTotals;
  readonly virtualMs: number;
  readonly healedMs: number;
  /** What was excluded from the promise (checkers/accounting/exclusions.ts). */
  readonly exclusions: ReadonlyMap<Exclusion, ExclusionUse>;
  /** Quota held by admissions, in pod-seconds. */
  readonly heldPodSeconds: number;
  readonly digest: string;
  readonly recent: readonly string[];
}

export async function runWorld(options: RunOptions): Promise<RunResult> {
  const world = await createWorld(options);
  options.onWorld?.(world);
  const { kernel } = world;
  const healedMs = await runPhases(world).catch((error: unknown) => {
    kernel.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 0;
  });
  return {
    failure: kernel.failure,
    totals: world.totals,
    virtualMs: kernel.nowMs,
    healedMs,
    exclusions: world.ledger.exclusions.uses,
    heldPodSeconds: [...world.checkers.values()].reduce((sum, { heldPodMs }) => sum + heldPodMs / 1000, 0),
    recent: kernel.recent(),
    digest: kernel.digest(),
  };
}

/** Where the previous release is not at hand, the world is not upgraded, and the totals say so. */
async function createWorld(options: RunOptions): Promise<World> {
  const plan = { ...drawPlan(createSeededRng(options.seed), options.only), ...options.plan };
  if (plan.upgrade === "none") return new World({ ...options, plan });
  // The previous release knows one core.
  const previous = await previousRelease();
  if (previous.isThere) {
    const loss = isDemandedOfUpgrades(plan) ? plan.loss : "none";
    return new World({ ...options, plan: { ...plan, loss, otherCore: "none" }, previousRelease: previous.release });
  }
  const world = new World({ ...options, plan: { ...plan, upgrade: "none" } });
  world.count(upgradesLeftOut);
  return world;
}

async function runPhases(world: World): Promise<number> {
  const { kernel, plan } = world;
  await during(world, world.start());
  const workloads = new Map(world.cells.map((cell) => [cell.name, new Workload(world, cell)] as const));
  for (const workload of workloads.values()) await during(world, workload.start());
  const cores = world.cores.map((core) => new CoreCast(world, core));
  for (const { owner } of cores) await during(world, owner.start());
  await kernel.run(kernel.nowMs + startUpMs, () => isCounted(world));
  if (kernel.failure === undefined && !isCounted(world))
    kernel.fail("the counts are not there when everything is well");
  world.calm.allIsWell();

  const deleters = new Deleters(world, workloads);
  for (const { approvers } of cores) approvers.begin();
  const chaos = new Chaos(world, { workloads, deleters, cores });
  chaos.begin();
  const endMs = kernel.nowMs + plan.chaosMs;
  await deleteUntil(world, deleters, endMs);
  await during(world, chaos.heal());
  if (plan.loss === "core" || plan.loss === "writes of the core") {
    const withoutMs = await withoutCore(world, deleters);
    if (world.coresLeft.length === 0) return withoutMs;
  }
  for (const { sources, modes, passing, cells } of cores) {
    void sources.goHome();
    void modes.goHome();
    void cells.goHome();
    passing.goHome();
  }
  return await healed(world, { workloads, deleters, cores });
}

/** People and controllers delete pods, as often as the plan has it. */
async function deleteUntil({ kernel, plan }: World, deleters: Deleters, endMs: number): Promise<void> {
  const rng = kernel.rng("pace of deletions");
  const next = (): void => {
    if (kernel.nowMs >= endMs) return;
    void deleters.deleteOne();
    kernel.schedule((-Math.log(1 - rng.next()) * 1000) / plan.deletionsPerSecond, next);
  };
  kernel.schedule(uniform(rng, 0, 1000), next);
  await kernel.run(endMs);
}

/**
 * Nobody asks for anything any more: buckets must go, counts must be true, and what fits must be admitted. Returns how
 * long it took.
 */
async function healed(world: World, actors: Actors): Promise<number> {
  const { kernel } = world;
  const { deleters, workloads, cores } = actors;
  await kernel.run(kernel.nowMs + crdBackMsMax, () => cores.every(({ losses }) => losses.hasCrd));
  const startMs = kernel.nowMs;
  await kernel.run(startMs + healingMsMax, () => deleters.running === 0 && isSettled(world, actors));
  const healedMs = kernel.nowMs - startMs;
  if (kernel.failure === undefined && !isSettled(world, actors)) {
    const left = unmet(world).join("; ") || describe(world);
    kernel.fail(`not settled ${Math.round(healedMs)} ms after the end of all faults: ${left}`);
  }
  await rested(world);
  for (const workload of workloads.values()) await during(world, workload.fill());
  await kernel.run(kernel.nowMs + refillMs);
  if (world.lost.cells.size > 0)
    await kernel.run(Math.max(kernel.nowMs, startMs + silenceLimitMs(world.plan.silentAfterMs)));
  await heard(world, startMs);
  await counted(world, startMs);
  await deleteInCalm(world, actors);
  // What needs quota of a lost core is refused for ever.
  if (world.lost.cores.size === 0) await tryOnce(world, deleters);
  return healedMs;
}

/**
 * Nothing can be settled or counted any more. All that is demanded for ever is what the checkers see: every deletion is
 * answered in time, and none that needs quota is admitted beyond what may be lent.
 */
async function withoutCore(world: World, deleters: Deleters): Promise<number> {
  const { kernel } = world;
  const startMs = kernel.nowMs;
  await deleteUntil(world, deleters, startMs + 2 * settleWindowMs);
  const unanswered = (): number => deleters.runningSince(startMs);
  await kernel.run(kernel.nowMs + settleWindowMs, () => unanswered() === 0);
  if (kernel.failure === undefined && unanswered() > 0)
    kernel.fail(`${unanswered()} deletions have no answer for ${settleWindowMs} ms without the core`);
  return kernel.nowMs - startMs;
}

/** When all is settled, queues and tables of unfinished work are empty soon. */
async function rested(world: World): Promise<void> {
  const { kernel } = world;
  // What may have been released unseen is let go after an hour.
  const limitMs = restMs + slownessMs(world) + Math.min(longestHourMs, world.plan.hourMs);
  await kernel.run(kernel.nowMs + limitMs, () => world.leftovers().length === 0);
  // Nothing else may wait for so long.
  if (isMadeAgainLate(world) && world.leftovers().every((text) => text.includes("generator_queue_entries")))
    await kernel.run(kernel.nowMs + recreatedHours * world.plan.hourMs, () => world.leftovers().length === 0);
  const left = world.leftovers();
  if (kernel.failure === undefined && left.length > 0)
    kernel.fail(`left behind ${Math.round(limitMs)} ms after everything was settled: ${left.join("; ")}`);
}

/** PodProtectors that had vanished may have found no CRD or no namespace to be made again in. */
function isMadeAgainLate({ plan }: World): boolean {
  return plan.faults.has("wiped-core") || plan.faults.has("deleted-crd");
}

/** How far the slowest aggregator's clock is behind that of a cell: pods seem to become available that much later. */
function slownessMs({ cells, aggregators }: World): number {
  const ahead = Math.max(...cells.map(({ node }) => node.wallClockErrorMs));
  return Math.max(0, ...aggregators.map((process) => ahead - (process.node()?.wallClockErrorMs ?? ahead)));
}

/** Every webhook hears of every cell, so none is silent because of what has been. */
async function heard(world: World, healedAtMs: number): Promise<void> {
  const { kernel } = world;
  const isHeard = (): boolean => silentCells(world).length + unheardCells(world, healedAtMs).length === 0;
  await kernel.run(Math.max(kernel.nowMs, healedAtMs + heardMsMax), isHeard);
  const silent = silentCells(world);
  if (kernel.failure === undefined && silent.length > 0)
    kernel.fail(
      `still silent ${Math.round(kernel.nowMs - healedAtMs)} ms after the end of all faults: ${silent.join()}`,
    );
}

/**
 * Pods that came after everything had settled are counted, too. An aggregator whose cell was counted rightly by chance,
 * because it had no pods just then, may not have been back yet: its first request may hang for 30 s, and then the Lease
 * of the one before it must run out.
 */
async function counted(world: World, healedAtMs: number): Promise<void> {
  const { kernel } = world;
  const isDone = (): boolean => present(world).every((checker) => isTrue(world, checker));
  const limitMs = Math.max(healedAtMs + healingMsMax, kernel.nowMs + refillMs) + slownessMs(world);
  await kernel.run(limitMs, isDone);
  if (kernel.failure === undefined && !isDone())
    kernel.fail(`new pods are not counted when everything is well: ${describe(world)}`);
}

/** Everything is well, and deletions go on: none is refused without need (checkers/reviews/refusals.ts). */
async function deleteInCalm(world: World, { deleters, cores }: Pick<Actors, "deleters" | "cores">): Promise<void> {
  const { kernel, calm } = world;
  calm.allIsWell();
  // One change for each, so that all are answered before the end.
  for (const { modes } of cores) void modes.actInCalm();
  for (const { sources } of cores) for (let edits = 0; edits < calmEdits; edits += 1) void sources.editInCalm();
  await deleteUntil(world, deleters, kernel.nowMs + calmMs);
  await kernel.run(kernel.nowMs + calmMs / 2, () => deleters.running === 0);
}

/** With room above every floor, a deletion must go through in a few tries. */
async function tryOnce(world: World, deleters: Deleters): Promise<void> {
  const { kernel, checkers } = world;
  const protectors = [...checkers.values()].filter(({ object }) => object !== undefined);
  const hasRoom = protectors.every(
    (checker) => checker.trueHealthy(isThere(world)) > (checker.object?.spec.minAvailable ?? 0),
  );
  if (!hasRoom || kernel.failure !== undefined) return;
  const before = world.totals.admitted;
  const deadlineMs = kernel.nowMs + lastTriesMs;
  while (kernel.nowMs < deadlineMs && world.totals.admitted === before && kernel.failure === undefined) {
    void deleters.deleteOne();
    await kernel.run(kernel.nowMs + 1_000);
  }
  if (kernel.failure === undefined && world.totals.admitted === before) {
    kernel.fail(`nothing is admitted although there is room: ${describe(world)}`);
  }
}

/** Time passes until the work is done. */
async function during(world: World, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const tracked = work.finally(() => (isDone = true));
  await world.kernel.run(world.kernel.nowMs + 60_000, () => isDone);
  if (!isDone) world.kernel.fail("something that should take moments does not end");
  else await tracked;
}

/** What the sources of cores that are left ask for, and do not have. */
function unmet({ coresLeft }: World): readonly string[] {
  return coresLeft.flatMap(({ sources }) => sources.unmet());
}

/** PodProtectors of cores that are left. */
function present(world: World): AccountingChecker[] {
  return world.coresLeft.flatMap((core) => core.present);
}

/** Every cell has counts of the present spec. */
function isCounted(world: World): boolean {
  const checkers = present(world);
  return (
    checkers.length > 0 &&
    checkers.every((checker) => isTrue(world, checker)) &&
    world.processes().every((process) => process.isReady()) &&
    (world.plan.loss === "none" || world.plan.upgrade !== "none" || haveBeaten(world))
  );
}

/** The counts of all cells that are there are right. */
function isTrue(world: World, checker: AccountingChecker): boolean {
  const cells = checker.object?.status?.cells ?? [];
  if (cells.length > world.cells.length) return false;
  return world.cells.every(({ name }) => {
    if (world.lost.cells.has(name)) return true;
    const isMeant = (cell: string): boolean => cell === name;
    const counts = cells.find(({ cellID }) => isMeant(cellID))?.aggregation;
    // Where there is nothing to count, nothing need be written.
    if (counts === undefined && !checker.hasMembers(isMeant)) return true;
    if (counts?.availableReplicas !== checker.trueAvailable(isMeant)) return false;
    return checker.isCountedAtCurrent(isMeant);
  });
}

function isSettled(world: World, { cores }: Actors): boolean {
  // In a core that is lost a deletion waits for ever for its generator.
  const left = cores.filter(({ core }) => world.coresLeft.includes(core));
  const areHome = left.every(({ sources, modes, passing, cells, losses }) => {
    return [sources, modes, passing, cells].every(({ isHome }) => isHome) && losses.hasCrd;
  });
  if (!areHome || !present(world).every((checker) => checker.weight(isThere(world)) === 0)) return false;
  return present(world).every((checker) => isTrue(world, checker)) && unmet(world).length === 0;
}

/** Of what is lost nothing is demanded. */
function isThere({ lost }: World): (cell: string) => boolean {
  return (cell) => !lost.cells.has(cell);
}

function describe(world: World): string {
  return present(world)
    .map((checker) => {
      const { summary, cells } = checker.object?.status ?? {};
      return JSON.stringify({ weight: checker.weight(), healthy: checker.trueHealthy(), summary, cells });
    })
    .join(" ");
}
