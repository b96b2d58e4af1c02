/**
 * `make sim SHRINK=1 SEED=…`: looks for a smaller world with the same kind of finding: fewer fault classes, fewer of
 * everything, less time.
 */
import { type FaultClass } from "../fault-classes.ts";
import { type RunOutcome, type RunTask, planOf, type PlanSettings } from "../workers/task.ts";

export type Run = (task: RunTask) => Promise<RunOutcome>;

export interface ShrinkOptions {
  readonly run: Run;
  /** Told of each step that worked. */
  readonly say: (line: string) => void;
  /** A run takes about a second. */
  readonly triesMax: number;
}

type Size = Required<PlanSettings>;

/**
 * Everything about a world that can be made smaller, in the order in which it is tried. The floor follows the pods
 * (`apply`).
 */
const simplifications: readonly ((size: Size) => PlanSettings)[] = [
  ({ cells }) => ({ cells: cells.slice(0, 1) }),
  ({ cells }) => ({ cells: cells.slice(0, Math.ceil(cells.length / 2)) }),
  ({ cells }) => ({ cells: cells.slice(0, -1) }),
  () => ({ otherCore: "none" }),
  () => ({ hasSecondProtector: false }),
  () => ({ hasMoreSources: false }),
  () => ({ hasGenerator: false }),
  () => ({ upgrade: "none" }),
  () => ({ webhooks: 1 }),
  ({ webhooks }) => ({ webhooks: webhooks - 1 }),
  () => ({ aggregatorsPerCell: 1 }),
  () => ({ updateTrigger: false }),
  () => ({ offersWatchList: true }),
  () => ({ servesProtobuf: false }),
  () => ({ minReadySeconds: 0 }),
  () => ({ hasRichSelectors: false }),
  () => ({ evictedPods: "map" }),
  () => ({ recordsPodNames: false }),
  () => ({ maxConcurrentLag: 0 }),
  () => ({ hasSmallLimits: false }),
  () => ({ forbidsHeartbeats: false }),
  () => ({ servesOnlyItsCells: false }),
  () => ({ cellsBy: "cluster" }),
  () => ({ hourMs: 3_600_000 }),
  () => ({ compactThreshold: 100 }),
  ({ chaosMs }) => ({ chaosMs: Math.round(chaosMs / 2) }),
  ({ chaosMs }) => ({ chaosMs: Math.round(chaosMs * 0.8) }),
  ({ podsPerCell }) => ({ podsPerCell: Math.ceil(podsPerCell / 2) }),
  ({ podsPerCell }) => ({ podsPerCell: podsPerCell - 1 }),
  ({ deletionsPerSecond }) => ({ deletionsPerSecond: deletionsPerSecond / 2 }),
];

/** The finding without what differs between two runs: numbers, ids, names of cells, and the state in braces. */
export function kindOf(finding: string): string {
  const [firstLine = ""] = finding.split("\n", 1);
  return firstLine
    .replace(/[[{].*$/, "")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]+\b/g, "#")
    .replaceAll(/\d+(?:\.\d+)?/g, "#")
    .replaceAll(/\b(?:[a-t]|web|zone|worker|east)(?:-(?:#|[a-t]))*(?=[\s:,.]|$)/g, "*")
    .trim();
}

/** Returns the outcome of the smallest run found; `failing` is the run to begin with. */
export async function shrink(
  failing: RunOutcome,
  options: ShrinkOptions,
): Promise<{ smallest: RunOutcome; tries: number }> {
  const kind = kindOf(failing.finding ?? "");
  let smallest = failing;
  let tries = 0;
  const attempt = async (task: RunTask, what: string): Promise<boolean> => {
    if (tries >= options.triesMax) return false;
    tries += 1;
    const outcome = await options.run(task);
    if (outcome.finding === undefined || kindOf(outcome.finding) !== kind) return false;
    smallest = outcome;
    options.say(`${tries}: ${what}`);
    return true;
  };
  let isSmaller = true;
  while (isSmaller && tries < options.triesMax) {
    const faults = await shrinkFaults(() => smallest, attempt);
    const size = await shrinkSize(() => smallest, attempt);
    isSmaller = faults || size;
  }
  return { smallest, tries };
}

type Attempt = (task: RunTask, what: string) => Promise<boolean>;

/** Delta debugging: leaves out large parts of the set first, then smaller ones, down to single classes. */
async function shrinkFaults(present: () => RunOutcome, attempt: Attempt): Promise<boolean> {
  let isSmaller = false;
  let part = Math.ceil(present().faultClasses.length);
  while (part >= 1) {
    let start = 0;
    while (start < present().faultClasses.length) {
      const { task, faultClasses } = present();
      const only: FaultClass[] = faultClasses.toSpliced(start, part);
      // Without its own fault classes a seed draws none of these.
      const { upgrade, otherCore, hasMoreSources } = planOf(task);
      const plan = { ...task.plan, upgrade, otherCore, hasMoreSources };
      if (await attempt({ ...task, only, plan }, `faults: ${only.join(" ") || "none"}`)) isSmaller = true;
      else start += part;
    }
    part = part === 1 ? 0 : Math.ceil(part / 2);
  }
  return isSmaller;
}

async function shrinkSize(present: () => RunOutcome, attempt: Attempt): Promise<boolean> {
  let isSmaller = false;
  for (const simplify of simplifications) {
    for (;;) {
      const { task } = present();
      const size = sizeOf(task);
      const change = apply(size, simplify(size));
      if (change === undefined) break;
      if (!(await attempt({ ...task, plan: { ...task.plan, ...change } }, JSON.stringify(change)))) break;
      isSmaller = true;
    }
  }
  return isSmaller;
}

function sizeOf(task: RunTask): Size {
  const { faults: _faults, severity: _severity, rates: _rates, ...size } = planOf(task);
  return size;
}

/** Chaos of less than that hits nothing, and fewer deletions show nothing. */
const least = { chaosMs: 1_000, deletionsPerSecond: 0.05 };

/**
 * The change with a floor that leaves as many pods to spare as before; undefined when it changes nothing or leaves
 * nothing.
 */
function apply(size: Size, change: PlanSettings): PlanSettings | undefined {
  const next = { ...size, ...change };
  if (JSON.stringify(next) === JSON.stringify(size)) return undefined;
  if (next.cells.length === 0 || next.podsPerCell < 1 || next.webhooks < 1) return undefined;
  if (next.chaosMs < least.chaosMs || next.deletionsPerSecond < least.deletionsPerSecond) return undefined;
  const total = next.podsPerCell * next.cells.length;
  const before = size.podsPerCell * size.cells.length;
  if (total === before) return change;
  return { ...change, minAvailable: Math.max(1, total - Math.max(1, before - size.minAvailable)) };
}
