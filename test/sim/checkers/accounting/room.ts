/**
 * How much may be deleted by the truth: pods that meet the criterion, less the admissions that may still be used, less
 * the floor. A webhook knows each of these a little later than it is true, so that what was gained lately does not
 * count yet, and what was lost counts at once. Whatever is uncertain counts as taken.
 */
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { totalWeight } from "../../../../src/accounting/history/bucket.ts";
import { type HistoryLimits } from "../../../../src/accounting/history/record.ts";
import { entriesOf, type HistoryEntry } from "./history.ts";
import { isHistoryFull, isStatusFull } from "./history-size.ts";
import { type Ledger } from "./ledger.ts";
import { allCells, type InCells, type Standing } from "./standing.ts";

export interface RoomOptions {
  readonly ledger: Ledger;
  /** Without it only the bookmark of a minute shows that an evicted pod has gone for certain. */
  readonly hasUpdateTrigger: boolean;
  /** Of the webhooks; 0 = no limit. */
  readonly maxConcurrentLag: number;
  /** Cells that will never come back. */
  readonly lostCells: ReadonlySet<string>;
  readonly historyLimits: HistoryLimits;
  /** It was released: then it refuses nothing. */
  readonly isLetGo: () => boolean;
}

/** What adds to the room or takes from it, as it has been lately; oldest first. */
type Share = { readonly atMs: number; readonly value: number; readonly isPod: boolean }[];

/** Longer than anybody asks for. */
const keptMs = 10_000;
/** Beside the pods, which are called by their digests. */
const floorShare = "the floor";
const lagShare = "the lag limit";
const fullPrefix = "full: ";
const fullStatusShare = "full status";
/**
 * With the update-trigger: until an evicted pod that is gone has left its history. There is a barrier a second at most,
 * and a write of counts.
 */
const passedMs = 2_000;
/** More than there are pods. */
const unlimited = 1_000_000;

export class Room {
  readonly #standing: Standing;
  readonly #options: RoomOptions;
  readonly #shares = new Map<string, Share>();

  constructor(standing: Standing, options: RoomOptions) {
    this.#standing = standing;
    this.#options = options;
  }

  /** Takes notice of the truth as it is now. */
  observe(): void {
    const now = sharesOf(this.#standing, this.#options);
    for (const name of this.#shares.keys()) if (!now.values.has(name)) now.values.set(name, 0);
    for (const [name, value] of now.values) this.#note(name, value, now.pods.has(name));
  }

  /** What is remembered is no longer true. */
  forget(): void {
    this.#shares.clear();
  }

  /**
   * Deletions for which there has been room since then, whatever of it had been seen, in the floor and in the history
   * of that cell; 0 or less = none.
   */
  since(sinceMs: number, cell: string): number {
    const isOfAnother = (name: string): boolean => name.startsWith(fullPrefix) && name !== fullPrefix + cell;
    const own = [...this.#shares].filter(([name]) => !isOfAnother(name));
    return own.reduce((sum, [, share]) => sum + lowest(share, sinceMs), 0);
  }

  /** Pods that serve, those that are unseen included, where they are fewer than the floor; undefined = enough. */
  servingBelowFloor(): number | undefined {
    const { object } = this.#standing;
    if (object === undefined) return undefined;
    const serving = this.#standing.count(object, new Set());
    return serving < object.spec.minAvailable ? serving : undefined;
  }

  #note(name: string, value: number, isPod: boolean): void {
    const { nowMs } = this.#options.ledger.kernel;
    const share = this.#shares.get(name) ?? [];
    if (share.length === 0) this.#shares.set(name, share);
    const last = share.at(-1);
    if (last?.value !== value || last.isPod !== isPod) share.push({ atMs: nowMs, value, isPod });
    while ((share[1]?.atMs ?? nowMs) < nowMs - keptMs) share.shift();
    if (value === 0 && share.length === 1 && (share[0]?.atMs ?? nowMs) < nowMs - keptMs) this.#shares.delete(name);
  }
}

/**
 * What was not there before has added nothing; and the admission of such a pod takes from the others, whose counts do
 * not have it yet.
 */
function lowest(share: Share, sinceMs: number): number {
  const first = share.findLastIndex(({ atMs }) => atMs <= sinceMs);
  const seen = share.slice(Math.max(0, first));
  const isNew = first === -1 || share[first]?.isPod !== true;
  const values = seen.map(({ value, isPod }) => (isNew && isPod && value < 1 ? value - 1 : value));
  return Math.min(...values, ...(first === -1 ? [0] : []));
}

interface Shares {
  readonly values: Map<string, number>;
  /** Those of pods that meet the criterion. */
  readonly pods: ReadonlySet<string>;
}

function sharesOf(standing: Standing, options: RoomOptions): Shares {
  const { ledger, maxConcurrentLag, lostCells, historyLimits } = options;
  const { object } = standing;
  const pods = new Set<string>();
  if (object === undefined) return { values: new Map(options.isLetGo() ? [[floorShare, unlimited]] : []), pods };
  const { minAvailable } = object.spec;
  const shares = new Map([[floorShare, minAvailable <= 0 ? unlimited : -minAvailable]]);
  for (const pod of ledger.pods.values()) if (!lostCells.has(pod.cell) && standing.meets(pod)) pods.add(pod.digest);
  for (const digest of pods) shares.set(digest, 1);
  const cells = object.status?.cells ?? [];
  for (const entry of cells.filter(({ cellID }) => !lostCells.has(cellID)).flatMap(entriesOf))
    if (isOpen(entry, options)) shares.set(entry.digest, (shares.get(entry.digest) ?? 0) - 1);
  for (const cell of cells)
    if (isHistoryFull(cell, historyLimits)) shares.set(fullPrefix + cell.cellID, -2 * unlimited);
  if (isStatusFull(object.status, historyLimits)) shares.set(fullStatusShare, -2 * unlimited);
  if (minAvailable > 0 && maxConcurrentLag > 0 && weightOf(object) >= maxConcurrentLag)
    shares.set(lagShare, -2 * unlimited);
  return { values: shares, pods };
}

/** Unsettled admissions. */
export function weightOf(object: PodProtector | undefined, cells: InCells = allCells): number {
  const meant = (object?.status?.cells ?? []).filter(({ cellID }) => cells(cellID));
  return meant.reduce((sum, cell) => sum + totalWeight(cell.admissionHistory?.buckets), 0);
}

/** The admission may still be used, or nothing that an aggregator can have seen by now says otherwise. */
function isOpen(entry: HistoryEntry, { ledger, hasUpdateTrigger }: RoomOptions): boolean {
  const pod = ledger.byDigest.get(entry.digest);
  if (pod === undefined) return true;
  const { record, atMs } = pod.versions.at(-1) ?? {};
  if (pod.goneAt !== undefined) {
    // Until a barrier is passed, the pod is not counted any more and its bucket still takes from the others.
    const isPassed = hasUpdateTrigger && ledger.kernel.nowMs - (atMs ?? 0) >= passedMs;
    return entry.version === undefined && !isPassed;
  }
  if (record?.isTerminating === true) return false;
  return entry.version === undefined || entry.isEvicted || Number(record?.resourceVersion) <= Number(entry.version);
}
