/** Runs the cases against one target: a few at a time, then those that need the server for themselves. */
import { Limiter } from "../e2e/clusters/limiter.ts";
import { type ConformanceCase, type SkippedCase } from "./case.ts";
import { Scope } from "./scope.ts";
import { type Target, type UniqueName } from "./target.ts";

export interface CaseOutcome {
  readonly name: string;
  readonly durationMs: number;
  /** Undefined = passed. */
  readonly error?: unknown;
}

/**
 * Enough to fill the waits of single cases (a grace period, a webhook's timeout) and gentle to a machine with two
 * cores.
 */
export const casesAtOnce = 6;

/** Names that are unique on this server as long as `prefix` is. */
export function uniqueNames(runPrefix: string): UniqueName {
  const counter = { value: 0 };
  return (prefix) => `${runPrefix}${prefix}-${++counter.value}`;
}

/** The cases that the target runs. Throws when the list of skipped cases names one that does not exist. */
export function selectCases(
  cases: readonly ConformanceCase[],
  skipped: readonly SkippedCase[],
  target: Target["name"],
): readonly ConformanceCase[] {
  const known = new Set(cases.map(({ name }) => name));
  if (known.size !== cases.length) throw new Error("two cases have the same name");
  for (const { name } of skipped) if (!known.has(name)) throw new Error(`a skipped case does not exist: ${name}`);
  const mine = new Set(skipped.filter((one) => one.target === target).map(({ name }) => name));
  return cases.filter(({ name }) => !mine.has(name));
}

/** Runs every case, whatever the others do, and calls `report` as each ends. */
export async function runCases(
  cases: readonly ConformanceCase[],
  target: Target,
  unique: UniqueName,
  report: (outcome: CaseOutcome) => void = () => undefined,
): Promise<readonly CaseOutcome[]> {
  const run = async (one: ConformanceCase): Promise<CaseOutcome> => {
    const startMs = performance.now();
    const outcome = await one.run(new Scope(target, unique)).then(
      () => ({}),
      (error: unknown) => ({ error }),
    );
    const result = { name: one.name, durationMs: performance.now() - startMs, ...outcome };
    report(result);
    return result;
  };
  const shared = await new Limiter(casesAtOnce).all(
    cases.filter(({ isExclusive }) => !isExclusive),
    run,
  );
  const exclusive = await new Limiter(1).all(
    cases.filter(({ isExclusive }) => isExclusive),
    run,
  );
  return [...shared, ...exclusive];
}
