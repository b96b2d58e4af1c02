/** `make sim`: runs random worlds on all cores until the time is up; says what it found, and how to run it again. */
import { spawnSync } from "node:child_process";
import { type Exclusion, type ExclusionUse } from "../checkers/accounting/exclusions.ts";
import { type FaultClass, faultClasses, onDemand } from "../fault-classes.ts";
import { upgradesLeftOut } from "../plan.ts";
import { type Settings } from "./settings.ts";
import { type RunPool } from "../workers/run-pool.ts";
import { type RunOutcome, type RunTask } from "../workers/task.ts";

const secondMs = 1000;
const hourMs = 3600 * secondMs;
const tellEveryMs = 10 * secondMs;
/** A broken rule breaks many runs; the first few say enough. */
const violationsMax = 10;

/** Sums over all runs of a hunt. */
export class HuntTotals {
  readonly #startMs = performance.now();
  #worlds = 0;
  #deletions = 0;
  #admitted = 0;
  #refused = 0;
  #virtualMs = 0;
  #restoreBreaches = 0;
  violations = 0;
  readonly #strikes = new Map<string, number>();
  readonly #exclusions = new Map<Exclusion, ExclusionUse>();
  readonly #worldsWith = new Map<FaultClass, number>();

  add(outcome: RunOutcome): void {
    this.#worlds += 1;
    this.#deletions += outcome.deletions;
    this.#admitted += outcome.admitted;
    this.#refused += outcome.refused;
    this.#virtualMs += outcome.virtualMs;
    this.#restoreBreaches += outcome.restoreBreaches;
    if (outcome.finding !== undefined) this.violations += 1;
    for (const [name, strikes] of outcome.strikes) this.#strikes.set(name, (this.#strikes.get(name) ?? 0) + strikes);
    for (const [name, { times, longestMs }] of outcome.exclusions) {
      const before = this.#exclusions.get(name) ?? { times: 0, longestMs: 0 };
      const longest = Math.max(before.longestMs, longestMs);
      this.#exclusions.set(name, { times: before.times + times, longestMs: longest });
    }
    for (const name of outcome.faultClasses) this.#worldsWith.set(name, (this.#worldsWith.get(name) ?? 0) + 1);
  }

  get seconds(): number {
    return (performance.now() - this.#startMs) / secondMs;
  }

  line(): string {
    const hours = (this.#virtualMs / hourMs).toFixed(1);
    const asked = `${this.#deletions} deletions asked for, ${this.#admitted} admitted with quota`;
    const done = `${this.#worlds} worlds, ${hours} virtual hours`;
    const leftOut = this.#strikes.get(upgradesLeftOut) ?? 0;
    const upgrades = leftOut > 0 ? `, ${leftOut} UPGRADES LEFT OUT` : "";
    return `${Math.round(this.seconds)} s: ${done}, ${asked}, ${this.violations} violations${upgrades}`;
  }

  json(): string {
    const { seconds } = this;
    return JSON.stringify({
      worlds: this.#worlds,
      deletions: this.#deletions,
      admitted: this.#admitted,
      refused: this.#refused,
      violations: this.violations,
      // Floors whose pods the restore of a worker took away; no violations, but not fine either.
      restoreBreaches: this.#restoreBreaches,
      // By name: how often something was excluded from the promise, and after how many seconds at most.
      exclusions: sorted(
        [...this.#exclusions].map(([name, { times, longestMs }]) => [name, [times, rounded(longestMs / secondMs)]]),
      ),
      faults: sorted([...this.#strikes]),
      worldsWithFaultClass: Object.fromEntries(
        [...faultClasses, ...onDemand].map((name) => [name, this.#worldsWith.get(name) ?? 0]),
      ),
      virtualHours: rounded(this.#virtualMs / hourMs),
      deletionsPerSecond: rounded(this.#deletions / seconds),
      virtualSecondsPerSecond: rounded(this.#virtualMs / secondMs / seconds),
      seconds: rounded(seconds),
    });
  }
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function sorted<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the exit code: 1 when something was found. */
export async function hunt(pool: RunPool, settings: Settings): Promise<number> {
  const totals = new HuntTotals();
  const progress = createProgress();
  const endMs = performance.now() + settings.minutes * 60 * secondMs;
  let isInterrupted = false;
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers<void>();
  const onSignal = (): void => {
    isInterrupted = true;
    interrupt();
  };
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  const timer = setInterval(() => progress.tell(totals.line()), tellEveryMs);
  const all = pool.runAll(tasksOf(settings, endMs), (outcome) => {
    totals.add(outcome);
    if (outcome.finding !== undefined) progress.print(describeFailure(outcome));
    return totals.violations < violationsMax;
  });
  await Promise.race([all, interrupted]);
  clearInterval(timer);
  process.off("SIGINT", onSignal);
  process.off("SIGTERM", onSignal);
  progress.print(`${isInterrupted ? "interrupted; " : ""}${totals.line()}`);
  console.log(totals.json());
  if (totals.violations > 0) return 1;
  return isInterrupted ? 130 : 0;
}

/**
 * One seed after the other, at least one, until the time is up. Workers take them as they come, so no two run the same.
 */
function* tasksOf({ firstSeed, overrides }: Settings, endMs: number): Generator<RunTask> {
  let seed = firstSeed;
  do {
    yield { ...overrides, seed };
    seed += 1;
  } while (performance.now() < endMs);
}

/** One line that is written over again on a terminal; plain lines elsewhere. */
function createProgress(): { tell(line: string): void; print(text: string): void } {
  const { isTTY, columns } = process.stdout;
  const wipe = isTTY ? "\r\u001B[K" : "";
  return {
    tell: (line) => void process.stdout.write(isTTY ? wipe + line.slice(0, columns - 1) : `${line}\n`),
    print: (text) => void process.stdout.write(`${wipe}${text}\n`),
  };
}

/** Everything that one needs to understand the failure, and to run it again. */
export function describeFailure(outcome: RunOutcome): string {
  const { task, finding, faultClasses: classes, recent } = outcome;
  return [
    "",
    `VIOLATION with seed ${task.seed} of commit ${commit()}: ${finding}`,
    `  fault classes: ${classes.join(" ") || "none"}`,
    ...(recent.length === 0 ? [] : [`  the last ${recent.length} events:`, ...recent.map((line) => `    ${line}`)]),
    `  again:   ${replayCommand(task)}`,
    `  smaller: ${replayCommand(task).replace("MINUTES=0", "SHRINK=1")}`,
    "",
  ].join("\n");
}

/** The command that runs the task again. */
export function replayCommand({ seed, only, plan }: RunTask): string {
  const parts = ["make sim", `SEED=${seed}`, "MINUTES=0"];
  if (only !== undefined) parts.push(`ONLY=${only.join(",") || "none"}`);
  if (plan !== undefined) parts.push(`PLAN='${JSON.stringify(plan)}'`);
  return parts.join(" ");
}

function commit(): string {
  // Tags do not matter here; "-dirty" does.
  const described = spawnSync("git", ["describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"], {
    encoding: "utf8",
  });
  return described.status === 0 ? described.stdout.trim() : "unknown";
}
