/**
 * The figures that a deletion is judged by: what each cell has counted, and how much of it is promised
 * (docs/accounting.md#reservation). A cell whose counts are not in force, or that is silent, contributes no pods. What
 * a cell has promised takes from its own counts only: no cell can have fewer pods than none, so what is promised beyond
 * its counts, of pods that they do not show, takes nothing from other cells. In a cell that nobody has ever counted it
 * takes from the sum.
 */
import { type Aggregation, type CellStatus, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type CountedSpec } from "../count/counted-spec.ts";
import { countFor, type HealthCriterion, isOfReadiness, saidFor } from "../count/health-criterion.ts";
import { totalWeight } from "../history/bucket.ts";

/** Why the counts of a cell are, or are not, added up. */
export type CountsState =
  | "in-force"
  /** Nobody has counted the cell. */
  | "none"
  | Doubt;

/** Why counts are not to be used, although they are there. */
export type Doubt =
  /** They answer another spec: the PodProtector was edited, and its aggregator has not counted since. */
  | "other-spec"
  /** A restore of the core made them doubtful. */
  | "lost"
  /** The protector was made again under its name, and what was admitted before may still be carried out. */
  | "remade";

export interface CellFigures {
  readonly cellID: string;
  readonly counts: CountsState;
  /** For how long nothing has been heard from the cell, in milliseconds; absent = it is not silent. */
  readonly silentForMs?: number;
  /** Counted pods that meet the criterion; 0 unless the counts are in force and the cell is not silent. */
  readonly aggregated: number;
  /** What was counted last, in force or not, up to the limit for a cell. */
  readonly last: number;
  /** What the cell says, where that is above the limit; absent = it is not. */
  readonly said?: number;
  /** Pods that are not counted only because their kubelets are not heard; absent = none, or not told. */
  readonly unseen?: number;
  /**
   * Weights of the cell's unsettled buckets, and pods that are held without one. Those of a silent cell stand in its
   * history, but are not added up.
   */
  readonly unconfirmed: number;
}

/** The figures of a decision, for messages and audit annotations. */
export interface QuotaFigures {
  readonly criterion: HealthCriterion;
  readonly required: number;
  /** Counted pods that meet the criterion, summed over the cells whose counts are in force. */
  readonly aggregated: number;
  /** Counted pods in whatever state; undefined while a cell is silent, or its counts are not in force. */
  readonly total: number | undefined;
  /**
   * How many of the counted pods are promised, before this disruption: by cell, at most as many as it has counted,
   * unless nobody has ever counted it.
   */
  readonly unconfirmed: number;
  /** All that is promised, counted or not, without silent cells: what maxConcurrentLag is about. */
  readonly outstanding: number;
  readonly cells: readonly CellFigures[];
}

/** By cell, UIDs of pods. */
export type HeldPods = ReadonlyMap<string, ReadonlySet<string>>;

/** What tells which counts are in force, and what is promised besides the buckets. */
export interface CountsContext {
  /** Of the protector as it is now. */
  readonly countedSpec: Pick<CountedSpec, "isAnsweredBy">;
  /**
   * Why counts that answer the spec are not to be used (docs/accounting.md#counts-in-doubt); undefined = they are.
   * Absent = all are.
   */
  readonly doubtOf?: (cell: CellStatus) => Doubt | undefined;
  /** For how long a cell has been silent for this protector, in milliseconds; undefined = it is not. */
  readonly silentForMs: (cellID: string) => number | undefined;
  /** Whether a person has asked to retire a cell: it is leaving the protector. Absent = none is. */
  readonly isRetiring?: (cellID: string) => boolean;
  /** Pods whose admissions have vanished from the history, and are subtracted all the same. */
  readonly held: HeldPods;
}

export function countsState(
  cell: CellStatus | undefined,
  { countedSpec, doubtOf }: Pick<CountsContext, "countedSpec" | "doubtOf">,
): CountsState {
  const aggregation = cell?.aggregation;
  if (cell === undefined || aggregation === undefined) return "none";
  if (!countedSpec.isAnsweredBy(aggregation)) return "other-spec";
  return doubtOf?.(cell) ?? "in-force";
}

export function figuresOf(
  protector: PodProtector,
  cells: readonly CellStatus[],
  criterion: HealthCriterion,
  context: CountsContext,
): QuotaFigures {
  const perCell = cells.map((cell): CellFigures => {
    const counts = countsState(cell, context);
    const silentForMs = context.silentForMs(cell.cellID);
    const { aggregation } = cell;
    const last = aggregation === undefined ? 0 : countFor(criterion, aggregation, protector.spec);
    const said = aggregation === undefined ? 0 : saidFor(criterion, aggregation);
    return {
      cellID: cell.cellID,
      counts,
      ...(silentForMs !== undefined && { silentForMs }),
      aggregated: counts === "in-force" && silentForMs === undefined ? last : 0,
      last,
      ...(said > last && { said }),
      ...unseenIn(aggregation, criterion),
      unconfirmed: totalWeight(cell.admissionHistory?.buckets) + (context.held.get(cell.cellID)?.size ?? 0),
    };
  });
  return {
    criterion,
    required: protector.spec.minAvailable,
    aggregated: perCell.reduce((sum, cell) => sum + cell.aggregated, 0),
    total: perCell.every(({ counts, silentForMs }) => counts === "in-force" && silentForMs === undefined)
      ? totalOf(cells)
      : undefined,
    unconfirmed: perCell.reduce((sum, cell) => sum + takenBy(cell), 0),
    outstanding: perCell.reduce((sum, cell) => sum + (cell.silentForMs === undefined ? cell.unconfirmed : 0), 0),
    cells: perCell,
  };
}

function unseenIn({ unseenReplicas = 0 }: Partial<Aggregation> = {}, criterion: HealthCriterion): { unseen?: number } {
  return unseenReplicas > 0 && isOfReadiness(criterion) ? { unseen: unseenReplicas } : {};
}

/**
 * What is promised in a cell takes from its own counts only. But nobody knows where the pods are counted that were
 * promised in a cell without counts: its name may be that of a mistyped URL, and the pods of another cell.
 */
function takenBy({ counts, silentForMs, aggregated, unconfirmed }: CellFigures): number {
  return counts === "none" && silentForMs === undefined ? unconfirmed : Math.min(unconfirmed, aggregated);
}

function totalOf(cells: readonly CellStatus[]): number {
  return cells.reduce((sum, { aggregation }) => sum + (aggregation?.totalReplicas ?? 0), 0);
}

/** What a cell that has to count again may have, by what it counted last. */
export type Prospect = (cell: CellFigures) => number;
/** If nothing of what it has promised is carried out. */
export const allItHad: Prospect = ({ last }) => last;
/** If all of that is. */
export const whatItKeeps: Prospect = ({ last, unconfirmed }) => Math.max(0, last - unconfirmed);

/**
 * The cells to wait for when `lacking` pods are missing in the sum: those that have to count again, if what they may
 * have would do. Empty = it would not.
 */
export function awaitedCells({ cells }: QuotaFigures, lacking: number, prospect: Prospect): readonly string[] {
  const outdated = cells.filter(
    (cell) =>
      cell.counts !== "in-force" && cell.counts !== "none" && cell.silentForMs === undefined && prospect(cell) > 0,
  );
  const sum = outdated.reduce((total, cell) => total + prospect(cell), 0);
  return sum < lacking ? [] : outdated.map(({ cellID }) => cellID);
}

/**
 * The silent cells without which `lacking` pods are missing in the sum, if what they had last, less what they have
 * promised, would do. Empty = it would not.
 */
export function missedCells({ cells }: QuotaFigures, lacking: number): readonly string[] {
  const missed = cells.filter(
    (cell) => cell.silentForMs !== undefined && cell.counts !== "none" && whatItKeeps(cell) > 0,
  );
  const sum = missed.reduce((total, cell) => total + whatItKeeps(cell), 0);
  return sum < lacking ? [] : missed.map(({ cellID }) => cellID);
}
