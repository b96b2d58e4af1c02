/**
 * Reservation: judges disruptions against one PodProtector and records the admitted ones
 * (docs/accounting.md#reservation).
 *
 * estimated = the sum over all cells of max(0, its counted pods - the weights of its unsettled buckets)
 *
 * Invariant: a disruption that needs quota is admitted only if the estimate *after the write* is at least minAvailable.
 * A pod that already holds a bucket adds no weight, but is judged by the same rule. The caller makes the result true by
 * one compare-and-swap of the status; without it nothing is admitted.
 *
 * Invariant: a record never adds a cell, so that a mistyped or forged cell name leaves nothing in a status.
 */
import { compareResourceVersions } from "../../api/resource-version.ts";
import {
  type Bucket,
  type CellStatus,
  type PodProtector,
  type PodProtectorStatus,
} from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { oldestOpen, type OpenAdmission } from "../history/oldest-open.ts";
import { compact } from "../history/compaction.ts";
import { type Disruption, needOf } from "./disruption.ts";
import {
  allItHad,
  awaitedCells,
  type CountsContext,
  countsState,
  figuresOf,
  type HeldPods,
  missedCells,
  type Prospect,
  type QuotaFigures,
  whatItKeeps,
} from "./quota-figures.ts";
import { isForeign } from "../count/foreign-owners.ts";
import { type HistoryConfig } from "../history/history-config.ts";
import { type HistoryLimits, isFull, record, type Recorded } from "../history/record.ts";
import { type Fill, filledBy, isOverfull } from "../history/status-room.ts";
import { summarize } from "../count/summary.ts";

export interface ReservationContext extends CountsContext {
  readonly now: EpochMicros;
  readonly config: HistoryConfig;
  /** What the protector's status holds. */
  readonly fill: Fill;
  /** The status was not read live a moment ago, so that only a write on it proves anything. Absent = it was. */
  readonly isOld?: boolean;
  /** Default: those of production. */
  readonly historyLimits?: HistoryLimits | undefined;
  /** Write podName into new buckets of this cell. */
  readonly requiresPodName: (cellID: string) => boolean;
}

/** Admissions that a refusal names: a person looks at the oldest, which are most likely stuck. */
const oldestMax = 3;

/** Nothing more can be recorded: in the cell of the pod, or in the whole status. */
type Full = "full-buffer" | "full-status";

export type Verdict =
  /** Allowed. `isRecorded` is false when nothing was to be written, or a best-effort record was left out. */
  | {
      readonly kind: "admitted";
      readonly need: "nothing" | "record" | "quota";
      readonly isRecorded: boolean;
      readonly isRepeated: boolean;
      /** Why a best-effort record was left out: the history is full, nobody counts the cell, or it is being retired. */
      readonly leftOut?: "full-buffer" | "unknown-cell" | "retiring-cell";
      /** In shadow: what the verdict would have been. */
      readonly insteadOf?: RefusingVerdict;
    }
  | RefusingVerdict;

export type RefusingVerdict =
  /** Fewer pods than required, even if all unconfirmed admissions turn out to be unused. */
  | {
      readonly kind: "rejected";
      readonly figures: QuotaFigures;
      readonly missed?: readonly string[];
      /** The pod is not counted, as its kubelet is not heard, and those that are counted do not reach the floor. */
      readonly isUnseen?: true;
    }
  /**
   * May be admitted once earlier admissions are confirmed: "unconfirmed" (quota), "lag-limit" (maxConcurrentLag),
   * "full-buffer" (the history of the cell), "full-status" (that of all cells together). `missed`, here and above:
   * silent cells; with what they had last it would have been admitted.
   */
  | {
      readonly kind: "retry";
      readonly cause: "unconfirmed" | "lag-limit" | Full;
      readonly figures: QuotaFigures;
      readonly missed?: readonly string[];
      /** The oldest unsettled admissions, when these are in the way ("unconfirmed"). */
      readonly oldest?: readonly OpenAdmission[];
    }
  /**
   * May be admitted once these cells are counted: the cell of the pod, or others whose counts are not in force while
   * their last numbers would do. `silentForMs`: the cell of the pod is silent, too.
   */
  | {
      readonly kind: "counts-pending";
      readonly awaited: readonly string[];
      readonly figures: QuotaFigures;
      readonly silentForMs?: number;
    }
  /**
   * The cell of the pod is silent: nobody knows what is available there. Or it is being retired: what would be recorded
   * there would go with it, or keep it for ever.
   */
  | {
      readonly kind: "cell-silent";
      readonly silentForMs: number;
      readonly isRetiring?: boolean;
      readonly figures: QuotaFigures;
    };

export interface Reservation {
  /** One verdict for each disruption, in the order given. */
  readonly verdicts: readonly Verdict[];
  /**
   * The status to write; undefined when nothing was recorded. Made when it is first read: most callers only look at the
   * verdicts.
   */
  readonly status: PodProtectorStatus | undefined;
}

/**
 * Judges `disruptions` in the order given: the first ones win when quota is short. Pure; changes nothing.
 */
export function reserve(
  protector: PodProtector,
  disruptions: readonly Disruption[],
  context: ReservationContext,
): Reservation {
  const { fill, held } = context;
  /** What the disruptions so far leave. A lone one is judged often and recorded rarely, so it is made when needed. */
  let left = (): Records => ({ cells: protector.status?.cells ?? [], fill, held });
  const changed = new Set<string>();
  const takenOut = new Set<string>();
  const verdicts = disruptions.map((disruption): Verdict => {
    const judged = disruption.isShadow === true ? judgeInShadow : judge;
    const before = left();
    const { verdict, recorded } = judged(protector, before.cells, disruption, { ...context, ...before });
    left = () => (recorded === undefined ? before : withRecord(before, disruption, recorded));
    if (recorded === undefined) return verdict;
    changed.add(disruption.cellID);
    if (recorded.isTakenOut) takenOut.add(disruption.pod.uid);
    return verdict;
  });
  if (changed.size === 0) return { verdicts, status: undefined };
  let status: PodProtectorStatus | undefined;
  return {
    verdicts,
    get status() {
      return (status ??= statusWith(protector, left().cells, changed, takenOut, context.config));
    },
  };
}

/** What disruptions are judged on. */
interface Records extends Pick<ReservationContext, "fill" | "held"> {
  readonly cells: readonly CellStatus[];
}

function withRecord({ cells, fill, held }: Records, disruption: Disruption, recorded: Recorded): Records {
  return {
    cells: withHistory(cells, disruption.cellID, recorded.buckets),
    fill: fillWith(fill, recorded),
    held: withoutPod(held, disruption),
  };
}

/** The protector's status with these cells, the changed ones compacted. */
function statusWith(
  protector: PodProtector,
  recorded: readonly CellStatus[],
  changed: ReadonlySet<string>,
  takenOut: ReadonlySet<string>,
  config: HistoryConfig,
): PodProtectorStatus {
  let cells = recorded;
  for (const cellID of changed) {
    const buckets = cells.find((cell) => cell.cellID === cellID)?.admissionHistory?.buckets ?? [];
    cells = withHistory(cells, cellID, compact(buckets, config.compactThreshold, takenOut));
  }
  return { ...protector.status, cells, summary: summarize(cells, protector.spec) };
}

/** What is refused is recorded as a forced deletion is: the pod goes. */
function judgeInShadow(...[protector, cells, disruption, context]: Parameters<typeof judge>): Judgement {
  const strict = judge(protector, cells, disruption, context);
  if (strict.verdict.kind === "admitted") return strict;
  const forced = judge(protector, cells, { ...disruption, isForced: true }, context);
  if (forced.verdict.kind !== "admitted") return forced;
  return { ...forced, verdict: { ...forced.verdict, insteadOf: strict.verdict } };
}

interface Judgement {
  readonly verdict: Verdict;
  /** What to write into the disruption's cell; undefined when nothing is recorded. */
  readonly recorded?: Recorded;
}

function judge(
  protector: PodProtector,
  cells: readonly CellStatus[],
  disruption: Disruption,
  context: ReservationContext,
): Judgement {
  const cell = cells.find((one) => one.cellID === disruption.cellID);
  const countsThere = countsState(cell, context) === "in-force";
  const silentForMs = context.silentForMs(disruption.cellID);
  const isRetiring = context.isRetiring?.(disruption.cellID) === true;
  // By an older state another one may have begun to count it.
  if (countsThere && context.isOld !== true && isForeign(disruption.pod, cell?.aggregation, protector.spec))
    return { verdict: { kind: "admitted", need: "nothing", isRecorded: false, isRepeated: false } };
  // Counts that are not in force tell a pod's age all the same.
  const asked = needOf(disruption, protector.spec, cell?.aggregation, context.now);
  // What was counted before the pod was lost sight of may hold it. A silent cell adds nothing.
  const isProven = context.isOld !== true && (silentForMs !== undefined || isCountedSince(disruption.pod, cell));
  const need = asked === "floor" && !(countsThere && isProven) ? "quota" : asked;
  if (need === "nothing") return { verdict: { kind: "admitted", need, isRecorded: false, isRepeated: false } };

  const buckets = cell?.admissionHistory?.buckets ?? [];
  const recorded = record(buckets, disruption, context);
  const { isRepeated } = recorded;
  const full = fullOf(buckets, disruption, recorded, context);

  // A record never adds a cell: in one that nobody counts, nobody would settle it.
  const isUnknownCell = cell?.aggregation === undefined;

  if (need === "record-best-effort") {
    const verdict = { kind: "admitted", need: "record", isRecorded: true, isRepeated } as const;
    if (isUnknownCell) return { verdict: { ...verdict, isRecorded: false, leftOut: "unknown-cell" } };
    if (isRetiring) return { verdict: { ...verdict, isRecorded: false, leftOut: "retiring-cell" } };
    if (full !== undefined) return { verdict: { ...verdict, isRecorded: false, leftOut: "full-buffer" } };
    return { verdict, recorded };
  }

  // This pod would have a bucket again.
  const held = withoutPod(context.held, disruption);
  const figures = figuresOf(protector, cells, disruption.criterion, { ...context, held });
  const isUnrecorded = need === "floor" && disruption.operation === "delete";
  if (!isUnknownCell && ((isRetiring && !isUnrecorded) || (need === "quota" && silentForMs !== undefined)))
    return {
      verdict: { kind: "cell-silent", silentForMs: silentForMs ?? 0, ...(isRetiring && { isRetiring }), figures },
    };
  if (isUnknownCell || (!countsThere && (need === "quota" || disruption.operation === "evict"))) {
    const silence = silentForMs === undefined ? {} : { silentForMs };
    return { verdict: { kind: "counts-pending", awaited: [disruption.cellID], figures, ...silence } };
  }
  if (full !== undefined && !isUnrecorded) return { verdict: { kind: "retry", cause: full, figures } };
  if (need === "floor") {
    // What is promised of this very pod is promised of none that is seen.
    const others = withHistory(
      cells,
      disruption.cellID,
      recorded.buckets.filter((bucket) => bucket !== recorded.single),
    );
    const refusal = refusalToUnseen(figuresOf(protector, others, disruption.criterion, { ...context, held }));
    if (refusal !== undefined) return { verdict: refusal };
    if (isUnrecorded) return { verdict: { kind: "admitted", need: "nothing", isRecorded: false, isRepeated: false } };
    return { verdict: { kind: "admitted", need: "record", isRecorded: true, isRepeated }, recorded };
  }
  if (need === "quota") {
    const refusal = refusalOf(figures, isRepeated ? 0 : 1, context.config);
    if (refusal?.kind === "retry" && refusal.cause === "unconfirmed")
      return { verdict: { ...refusal, oldest: oldestOpen(cells, oldestMax, context.now) } };
    if (refusal?.kind === "rejected" && asked === "floor") return { verdict: { ...refusal, isUnseen: true } };
    if (refusal !== undefined) return { verdict: refusal };
  }
  return { verdict: { kind: "admitted", need, isRecorded: true, isRepeated }, recorded };
}

/** Whether the counts of the cell are from this version of the pod or a later one. */
function isCountedSince({ resourceVersion }: Disruption["pod"], cell: CellStatus | undefined): boolean {
  const counted = cell?.aggregation?.resourceVersion;
  return counted !== undefined && compareResourceVersions(counted, resourceVersion) >= 0;
}

/** Undefined = the pods that are seen, less those that are promised, reach the floor. */
function refusalToUnseen(figures: QuotaFigures): RefusingVerdict | undefined {
  const lacking = figures.required + figures.unconfirmed - figures.aggregated;
  if (lacking <= 0) return undefined;
  const pending = pendingOf(figures, lacking, allItHad);
  return pending ?? { kind: "rejected", isUnseen: true, figures, ...missing(figures, lacking) };
}

/** `recorded`: as the deletion would be. */
function fullOf(
  buckets: readonly Bucket[],
  deletion: Disruption,
  recorded: Recorded,
  { fill, historyLimits }: ReservationContext,
): Full | undefined {
  if (!recorded.isRepeated && isFull(buckets, deletion, historyLimits)) return "full-buffer";
  return growsBy(recorded) && isOverfull(fillWith(fill, recorded), historyLimits?.statusBytesMax)
    ? "full-status"
    : undefined;
}

/** A single bucket is refreshed in place; one that was packed takes more room than its digest did. */
function growsBy({ isRepeated, isTakenOut }: Recorded): boolean {
  return !isRepeated || isTakenOut;
}

function fillWith(fill: Fill, recorded: Recorded): Fill {
  return growsBy(recorded) ? filledBy(fill, recorded.single) : fill;
}

function refusalOf(figures: QuotaFigures, weight: 0 | 1, config: HistoryConfig): RefusingVerdict | undefined {
  const { aggregated, unconfirmed, outstanding, required } = figures;
  if (aggregated - 1 < required) {
    const lacking = required + 1 - aggregated;
    return pendingOf(figures, lacking, allItHad) ?? { kind: "rejected", figures, ...missing(figures, lacking) };
  }
  if (weight === 1 && config.maxConcurrentLag > 0 && config.maxConcurrentLag - outstanding <= 0) {
    return { kind: "retry", cause: "lag-limit", figures };
  }
  if (aggregated - unconfirmed - weight < required) {
    const lacking = required + weight + unconfirmed - aggregated;
    const refusal = { kind: "retry", cause: "unconfirmed", figures } as const;
    return pendingOf(figures, lacking, whatItKeeps) ?? { ...refusal, ...missing(figures, lacking) };
  }
  return undefined;
}

/** To more pods than are counted, a person must know which cells could have them. */
function pendingOf(figures: QuotaFigures, lacking: number, prospect: Prospect): RefusingVerdict | undefined {
  const awaited = awaitedCells(figures, lacking, prospect);
  return awaited.length === 0 ? undefined : { kind: "counts-pending", awaited, figures };
}

/** The silent cells that a refusal names. */
function missing(figures: QuotaFigures, lacking: number): { readonly missed?: readonly string[] } {
  const missed = missedCells(figures, lacking);
  return missed.length === 0 ? {} : { missed };
}

function withoutPod(held: HeldPods, { cellID, pod }: Disruption): HeldPods {
  const ofCell = held.get(cellID);
  if (ofCell === undefined || !ofCell.has(pod.uid)) return held;
  return new Map([...held, [cellID, new Set([...ofCell].filter((uid) => uid !== pod.uid))]]);
}

/** Changes a cell that is there. */
function withHistory(cells: readonly CellStatus[], cellID: string, buckets: readonly Bucket[]): readonly CellStatus[] {
  return cells.map((cell) =>
    cell.cellID === cellID ? { ...cell, admissionHistory: { ...cell.admissionHistory, buckets } } : cell,
  );
}
