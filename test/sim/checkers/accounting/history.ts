/** The admissions that a cell's history holds, one entry for each pod, whether its bucket is single or packed. */
import { type Bucket, type CellStatus, type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { digestOfUID, unpackDigests } from "../../../../src/accounting/history/uid-digest.ts";

export interface HistoryEntry {
  readonly digest: string;
  /** Of the bucket: for a packed pod the highest of its companions. Undefined = settled by the window. */
  readonly version: string | undefined;
  readonly isPacked: boolean;
  /** By an eviction that names the version. */
  readonly isEvicted: boolean;
  /** Changes when the admission is refreshed; that of a packed pod also with its companions. */
  readonly mark: string;
}

export function cellOf(object: PodProtector | undefined, cellID: string): CellStatus | undefined {
  return object?.status?.cells.find((cell) => cell.cellID === cellID);
}

const entriesOfCell = new WeakMap<CellStatus, readonly HistoryEntry[]>();

/** Buckets without a pod (compacted by Go) have no entry. Read once for all who ask, as states are never changed. */
export function entriesOf(cell: CellStatus): readonly HistoryEntry[] {
  let entries = entriesOfCell.get(cell);
  if (entries === undefined) {
    entries = (cell.admissionHistory?.buckets ?? []).flatMap(entriesOfBucket);
    entriesOfCell.set(cell, entries);
  }
  return entries;
}

function entriesOfBucket(bucket: Bucket): HistoryEntry[] {
  const { podUID, podUIDDigests, podResourceVersion, evictionResourceVersion, startTime } = bucket;
  const version = podResourceVersion ?? evictionResourceVersion;
  const isEvicted = evictionResourceVersion !== undefined;
  if (podUID !== undefined)
    return [{ digest: digestOfUID(podUID), version, isPacked: false, isEvicted, mark: startTime }];
  const digests = podUIDDigests === undefined ? [] : (unpackDigests(podUIDDigests)?.list() ?? []);
  const mark = JSON.stringify(bucket);
  return digests.map((digest) => ({ digest, version, isPacked: true, isEvicted: false, mark }));
}
