/** Sums of many episodes. */
import { type Outcome } from "./play.ts";

/** Episodes `from` up to, but not including, `end`. */
export interface Range {
  readonly seed: number;
  readonly from: number;
  readonly end: number;
}

export interface Tally {
  inputs: number;
  reachedQuota: number;
  readonly byStatus: Map<string, number>;
  /** Numbers of the episodes that failed, with what was wrong. */
  readonly failures: { readonly index: number; readonly failure: string }[];
}

export function emptyTally(): Tally {
  return { inputs: 0, reachedQuota: 0, byStatus: new Map(), failures: [] };
}

export function addOutcome(tally: Tally, index: number, { inputs, reachedQuota, byStatus, failure }: Outcome): void {
  tally.inputs += inputs;
  tally.reachedQuota += reachedQuota;
  addStatuses(tally, byStatus);
  if (failure !== undefined) tally.failures.push({ index, failure });
}

export function addTally(sum: Tally, { inputs, reachedQuota, byStatus, failures }: Tally): void {
  sum.inputs += inputs;
  sum.reachedQuota += reachedQuota;
  addStatuses(sum, byStatus);
  sum.failures.push(...failures);
}

function addStatuses(tally: Tally, byStatus: ReadonlyMap<string, number>): void {
  for (const [status, count] of byStatus) tally.byStatus.set(status, (tally.byStatus.get(status) ?? 0) + count);
}

/** As an object with sorted keys, for JSON. */
export function statusesOf({ byStatus }: Pick<Tally, "byStatus"> | Pick<Outcome, "byStatus">): Record<string, number> {
  return Object.fromEntries([...byStatus].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
