/**
 * status.summary: sums over all cells, for people and their tools (docs/accounting.md#the-summary). Source: upstream,
 * with the counters of compacted buckets in full (docs/compatibility.md#upstream-defects), and with what the columns of
 * kubectl show besides. What is 0 is written: a column without a value would look like one that nobody knows.
 */
import { epochMicrosOf, type MicroTime } from "../../api/micro-time.ts";
import {
  type Aggregation,
  type Bucket,
  type CellStatus,
  type PodProtectorSpec,
  type Summary,
} from "../../api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../history/bucket.ts";
import { countFor, criterionFor } from "./health-criterion.ts";

/** How many pods a PodProtector counts depends on these. */
export type CountingSpec = Pick<PodProtectorSpec, "healthCriterion" | "maxPodsPerCell">;
/** What is free depends on the floor as well. */
export type SummarizedSpec = CountingSpec & Pick<PodProtectorSpec, "minAvailable">;

/**
 * What the CRD takes, and Go components decode. One cell may say any number of itself, and each write of everybody has
 * the sums of all: beyond this they would be refused, or the object could not be read.
 */
const int32 = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/**
 * Recomputes the summary from the cells; the same cells and the same spec always give an equal summary. No number of a
 * cell takes it out of the range of int32.
 */
export function summarize(cells: readonly CellStatus[], spec: SummarizedSpec): Summary {
  const summary = sumsOf(cells, spec);
  return Object.fromEntries(Object.entries(summary).map(([key, value]) => [key, clamped(value)])) as typeof summary;
}

function clamped(value: number): number {
  return Math.min(int32.max, Math.max(int32.min, value));
}

function sumsOf(cells: readonly CellStatus[], spec: SummarizedSpec): Required<Summary> {
  let total = 0;
  let available = 0;
  let unsettled = 0;
  let ready = 0;
  let scheduled = 0;
  let running = 0;
  let initialized = 0;
  let latencyMillis = 0;
  let countedCells = 0;
  for (const { aggregation, admissionHistory } of cells) {
    total += aggregation?.totalReplicas ?? 0;
    available += aggregation?.availableReplicas ?? 0;
    ready += aggregation?.readyReplicas ?? 0;
    scheduled += aggregation?.scheduledReplicas ?? 0;
    running += aggregation?.runningReplicas ?? 0;
    initialized += aggregation?.initializedReplicas ?? 0;
    if (aggregation !== undefined) countedCells += 1;
    unsettled += totalWeight(admissionHistory?.buckets);
    latencyMillis = Math.max(latencyMillis, latencyMillisOf(aggregation, admissionHistory?.buckets ?? []));
  }
  const { counted, promised } = standingOf(cells, spec);
  return {
    totalReplicas: total,
    aggregatedAvailableReplicas: available,
    estimatedAvailableReplicas: available - unsettled,
    maxLatencyMillis: latencyMillis,
    aggregatedReady: ready,
    aggregatedScheduled: scheduled,
    aggregatedRunning: running,
    aggregatedInitialized: initialized,
    promised,
    disruptionsAllowed: Math.max(0, counted - promised - Math.max(0, spec.minAvailable)),
    countedCells,
  };
}

/** By the PodProtector's own criterion and its limit for a cell, over all cells. */
export interface Standing {
  readonly counted: number;
  /**
   * Of the counted pods, as refusals have it (docs/accounting.md#reservation): what a cell has promised beyond its
   * counts takes nothing from other cells, unless nobody has ever counted it.
   */
  readonly promised: number;
}

export function standingOf(cells: readonly CellStatus[], spec: CountingSpec): Standing {
  const criterion = criterionFor(undefined, spec);
  let [counted, promised] = [0, 0];
  for (const { aggregation, admissionHistory } of cells) {
    const weight = totalWeight(admissionHistory?.buckets);
    const count = aggregation === undefined ? 0 : countFor(criterion, aggregation, spec);
    counted += count;
    promised += aggregation === undefined ? weight : Math.min(weight, count);
  }
  return { counted, promised };
}

/**
 * By how much the newest admission is ahead of what the counts cover. An object on which nothing happens is not
 * written, so its lastEventTime grows old without being behind: what lies between its counting and the oldest admission
 * that is open since is no latency (upstream shows a minute of it after a quiet minute). Clocks of two machines are
 * compared, for people only.
 */
function latencyMillisOf(aggregation: Aggregation | undefined, buckets: readonly Bucket[]): number {
  const { lastEventTime: covered, countedAt } = aggregation ?? {};
  if (covered === undefined) return 0;
  let oldest: MicroTime | undefined;
  let newest = covered;
  for (const { startTime } of buckets) {
    if (startTime === "") continue;
    if (oldest === undefined || startTime < oldest) oldest = startTime;
    if (startTime > newest) newest = startTime;
  }
  if (oldest === undefined || newest === covered) return 0;
  const wasQuiet = countedAt !== undefined && countedAt < oldest;
  const quietMicros = wasQuiet ? epochMicrosOf(oldest) - epochMicrosOf(countedAt) : 0;
  return Math.floor((epochMicrosOf(newest) - epochMicrosOf(covered) - quietMicros) / 1000);
}
