/** What people and programs are told of a planned drain. */
import { type ProtectorID } from "../../../api/object-key.ts";
import { floorOwnerOf } from "../../../webhook/decide/refusals/floor-owner.ts";
import { type FoundObstacle, gathered } from "../deletions.ts";
import { type DrainPlan, type Fate, type PlannedPod } from "../drain-plan.ts";
import { type Guarding } from "../guarding.ts";
import { obstaclesOf } from "../obstacles.ts";
import { drainFlagsFor } from "../simulated-pods.ts";

/** One PodProtector, or with an undefined ID the pods that none counts. */
export interface DrainRow {
  readonly id: ProtectorID | undefined;
  /** `Deployment shop/api`; undefined = it is hand-made, or there is none. */
  readonly owner: string | undefined;
  readonly isShadow: boolean;
  readonly pods: number;
  /** Undefined where nothing is counted. */
  readonly freeNow: number | undefined;
  readonly atOnce: number;
  readonly later: number;
  readonly never: number;
  /** In which pods of it go. */
  readonly rounds: number;
}

export interface DrainReport {
  readonly nodes: readonly string[];
  readonly cell: string;
  readonly isEndless: boolean;
  /** The first node that is never empty. */
  readonly stuckAt: string | undefined;
  readonly rows: readonly DrainRow[];
  readonly totals: Readonly<Record<Fate["kind"], number>>;
  readonly obstacles: readonly FoundObstacle[];
  /** What PodProtectors in shadow would refuse, by their ID: so many pods. */
  readonly shadowed: ReadonlyMap<string, number>;
  /** Flags that kubectl drain asks for. */
  readonly flags: readonly string[];
  readonly pods: readonly PlannedPod[];
}

export function drainReport(
  plan: DrainPlan,
  { nodes, cell, protectors }: { nodes: readonly string[]; cell: string; protectors: readonly Guarding[] },
): DrainReport {
  const byID = new Map<string, Guarding>(protectors.map((one) => [one.id, one]));
  const evicted = plan.pods.filter(({ fate }) => fate.kind !== "skipped");
  const shadowed = new Map<string, number>();
  for (const { fate } of evicted)
    if (fate.kind === "at-once") for (const { id } of fate.shadowed) shadowed.set(id, (shadowed.get(id) ?? 0) + 1);
  return {
    nodes,
    cell,
    isEndless: plan.stuckAt !== undefined,
    stuckAt: plan.stuckAt,
    rows: rowsOf(evicted, plan, byID),
    totals: totalsOf(plan.pods),
    obstacles: gathered(
      evicted.flatMap(({ pod, fate }) =>
        fate.kind === "never"
          ? [{ pod, obstacles: obstaclesOf(fate.obstruction, { protectors: byID, cellID: cell }) }]
          : [],
      ),
    ),
    shadowed,
    flags: [...new Set(plan.pods.flatMap(({ pod }) => drainFlagsFor(pod)))].sort(),
    pods: plan.pods,
  };
}

function totalsOf(pods: readonly PlannedPod[]): DrainReport["totals"] {
  const totals = { skipped: 0, "at-once": 0, later: 0, never: 0 };
  for (const { fate } of pods) totals[fate.kind] += 1;
  return totals;
}

/** What is stuck first, then by name; pods without a PodProtector last. */
function rowsOf(
  evicted: readonly PlannedPod[],
  { freeNow }: DrainPlan,
  byID: ReadonlyMap<string, Guarding>,
): readonly DrainRow[] {
  const ids = [...new Set(evicted.flatMap(({ protectors }) => protectors))];
  const guarded = ids.map((id) => {
    const own = evicted.filter(({ protectors }) => protectors.includes(id));
    return rowOf(id, own, { freeNow: freeNow.get(id), guarding: byID.get(id) });
  });
  const unguarded = evicted.filter(({ protectors }) => protectors.length === 0);
  const rows = guarded.sort((a, b) => b.never - a.never || ((a.id ?? "") < (b.id ?? "") ? -1 : 1));
  return unguarded.length === 0 ? rows : [...rows, rowOf(undefined, unguarded, {})];
}

function rowOf(
  id: ProtectorID | undefined,
  own: readonly PlannedPod[],
  { freeNow, guarding }: { freeNow?: number | undefined; guarding?: Guarding | undefined },
): DrainRow {
  const { "at-once": atOnce, later, never } = totalsOf(own);
  const object = guarding?.state.kind === "valid" ? guarding.state.view.protector : undefined;
  return {
    id,
    owner: object && floorOwnerOf(object)?.name,
    isShadow: guarding?.isShadow === true,
    pods: own.length,
    freeNow,
    atOnce,
    later,
    never,
    rounds: new Set(own.flatMap(({ fate }) => roundOf(fate) ?? [])).size,
  };
}

function roundOf(fate: Fate): number | undefined {
  if (fate.kind === "later") return fate.round;
  return fate.kind === "at-once" ? 1 : undefined;
}
