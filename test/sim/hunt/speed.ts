/**
 * `make sim SPEED=1`: how fast the simulator is on one core in a plain world, where nothing goes wrong, through the
 * full path.
 */
import { runWorld } from "../run.ts";
import { type Plan } from "../plan.ts";

/** For two quiet cores (docs/simulation.md#speed). */
const goals = { deletionsPerSecond: 2_000, virtualSecondsPerSecond: 500 };

const plain: Partial<Plan> = {
  cells: ["a"],
  minReadySeconds: 0,
  webhooks: 1,
  aggregatorsPerCell: 1,
  hasGenerator: false,
  hasSecondProtector: false,
  offersWatchList: true,
  updateTrigger: false,
  compactThreshold: 100,
  hasSmallLimits: false,
  criterion: "Available",
  cellsBy: "cluster",
};

interface Speed {
  readonly deletionsPerSecond: number;
  /** Refused deletions cost less: nothing follows from them. */
  readonly admittedPerSecond: number;
  readonly virtualSecondsPerSecond: number;
  /** Share of the wall clock's time that this process had a core: below 1 on a busy machine. */
  readonly share: number;
}

async function measure(plan: Partial<Plan>): Promise<Speed> {
  const startMs = performance.now();
  const before = process.cpuUsage();
  const { failure, totals, virtualMs } = await runWorld({ seed: 1, only: new Set(), plan: { ...plain, ...plan } });
  const { user, system } = process.cpuUsage(before);
  if (failure !== undefined) throw failure;
  const seconds = (user + system) / 1e6;
  return {
    deletionsPerSecond: totals.deletions / seconds,
    admittedPerSecond: totals.admitted / seconds,
    virtualSecondsPerSecond: virtualMs / 1000 / seconds,
    share: seconds / ((performance.now() - startMs) / 1000),
  };
}

/** Prints both figures, by time of the processor, so that a busy machine changes little. */
export async function speed(): Promise<void> {
  // The first runs also pay for what the compiler learns.
  await measure({ podsPerCell: 20, minAvailable: 10, deletionsPerSecond: 20, chaosMs: 20_000 });
  const burst = await measure({ podsPerCell: 100, minAvailable: 80, deletionsPerSecond: 100, chaosMs: 60_000 });
  console.log(
    `${Math.round(burst.deletionsPerSecond)} deletions per second (most of them refused)` +
      ` at 100 per virtual second (goal ${goals.deletionsPerSecond})`,
  );
  const moving = await measure({ podsPerCell: 200, minAvailable: 20, deletionsPerSecond: 25, chaosMs: 60_000 });
  console.log(
    `${Math.round(moving.admittedPerSecond)} admitted deletions per second where most are admitted,` +
      ` with all that follows from them`,
  );
  const calm = await measure({ podsPerCell: 10, minAvailable: 8, deletionsPerSecond: 3, chaosMs: 600_000 });
  console.log(
    `${Math.round(calm.virtualSecondsPerSecond)} virtual seconds per second` +
      ` at 3 deletions per virtual second (goal ${goals.virtualSecondsPerSecond})`,
  );
  const round = (value: number): number => Math.round(value * 100) / 100;
  console.log(
    JSON.stringify({
      deletionsPerSecond: Math.round(burst.deletionsPerSecond),
      admittedPerSecond: Math.round(moving.admittedPerSecond),
      virtualSecondsPerSecond: Math.round(calm.virtualSecondsPerSecond),
      shareOfCore: round(Math.min(burst.share, moving.share, calm.share)),
    }),
  );
}
