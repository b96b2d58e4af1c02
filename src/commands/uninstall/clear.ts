/** Carries a step out until nothing is left of it, or nothing goes on any more. */
import { finalizer } from "../../api/v1alpha1/names.ts";
import { later, sleep } from "../../util/clock.ts";
import { inTurns } from "../restore/restored-definition.ts";
import { type Step } from "./steps.ts";
import { nameOf, type Obstacle, type Site, type Target } from "./target.ts";

/** API servers finish a CRD within seconds. A namespace goes after its pods; those of a webhook have 60 s to end. */
const patienceMs = 120_000;
const pollMs = 500;
/** Between two lines of progress. */
const progressEveryMs = 5_000;

export interface Cleared {
  /** Objects that were changed. */
  readonly changed: number;
  /** What is left and why, one line each; empty = the step is done. */
  readonly left: readonly string[];
  /** What stays on purpose. */
  readonly kept: readonly string[];
}

/** `tell` gets lines of progress. Rejects only for programmer errors. */
export async function clear(step: Step, site: Site, tell: (line: string) => void): Promise<Cleared> {
  const { clock, signal } = site;
  const changed = new Set<string>();
  let fewest = Infinity;
  let end = later(clock.monotonicMs(), patienceMs);
  for (;;) {
    const { targets, obstacles, kept = [] } = await step.find(site);
    const open = targets.filter((target) => step.isOpen(target));
    const failures = new Map<Target, Obstacle>();
    await changeAll(open, { step, site, changed, failures, tell });
    const all = [...obstacles, ...failures.values()];
    if (all.length === 0 && targets.length === 0) {
      const obstacle = await step.afterwards?.(site, tell);
      return { changed: changed.size, left: obstacle === undefined ? [] : [obstacle.problem], kept };
    }
    // It goes on for as long as it comes nearer to its end.
    if (all.length === 0 && targets.length < fewest) end = later(clock.monotonicMs(), patienceMs);
    if (obstacles.length === 0) fewest = Math.min(fewest, targets.length);
    const isFinal = all.some((one) => one.isFinal) || signal.aborted;
    if (isFinal || clock.monotonicMs() >= end) {
      // What was changed just now may go yet.
      const waiting = isFinal ? targets.filter((one) => failures.has(one) || !changed.has(one.uid)) : targets;
      const left = waiting.map((target) => leftText(target, failures.get(target)));
      return { changed: changed.size, left: [...obstacles.map(({ problem }) => problem), ...left], kept };
    }
    await sleep(clock, pollMs, signal);
  }
}

interface Work {
  readonly step: Step;
  readonly site: Site;
  readonly changed: Set<string>;
  readonly failures: Map<Target, Obstacle>;
  readonly tell: (line: string) => void;
}

async function changeAll(open: readonly Target[], { step, site, changed, failures, tell }: Work): Promise<void> {
  const { clock, signal } = site;
  let count = 0;
  let nextLine = later(clock.monotonicMs(), progressEveryMs);
  await inTurns(open, async (target) => {
    if (signal.aborted) return;
    const obstacle = await step.change(site, target);
    if (obstacle === undefined) changed.add(target.uid);
    else failures.set(target, obstacle);
    count += 1;
    if (clock.monotonicMs() < nextLine) return;
    nextLine = later(clock.monotonicMs(), progressEveryMs);
    tell(`${count} of ${open.length}`);
  });
}

function leftText(target: Target, failure: Obstacle | undefined): string {
  if (failure !== undefined) return failure.problem;
  const what = `${target.kind} ${nameOf(target)}`;
  const others = target.finalizers.filter((one) => one !== finalizer);
  if (target.isTerminating && others.length > 0) return `${what}: it waits for the finalizers ${others.join(", ")}`;
  return `${what}: it is still there`;
}
