/**
 * How much the status of a PodProtector may hold, over all cells (docs/accounting.md#what-is-recorded). Beyond it no
 * admission adds to the history, whatever the single cells would still take: an object that etcd refuses could not even
 * be written by the aggregators that would empty it.
 */
import { type Bucket, type PodProtectorStatus } from "../../api/v1alpha1/pod-protector.ts";

/**
 * Bytes of the status as JSON. etcd refuses requests above 1.5 MiB. The rest is for the metadata with its annotations
 * and managedFields, for the spec, and for counts and conditions: aggregators do not ask whether there is room, because
 * a cell of a thousand takes half a kilobyte.
 */
export const statusBytesMax = 1_048_576;
/** Buckets of the status. Each review goes through all of them, 5 ms for this many. */
export const statusBucketsMax = 10_000;

/** What a status holds already. */
export interface Fill {
  readonly bytes: number;
  readonly buckets: number;
}

/** O(size of the status): measured once for each state of an object. */
export function fillOf(status: PodProtectorStatus | undefined): Fill {
  const cells = status?.cells ?? [];
  return {
    bytes: status === undefined ? 0 : Buffer.byteLength(JSON.stringify(status)),
    buckets: cells.reduce((sum, { admissionHistory }) => sum + (admissionHistory?.buckets?.length ?? 0), 0),
  };
}

/** With one more bucket. What the same write packs or drops is not taken off. */
export function filledBy(fill: Fill, bucket: Bucket): Fill {
  const separator = 1;
  return { bytes: fill.bytes + Buffer.byteLength(JSON.stringify(bucket)) + separator, buckets: fill.buckets + 1 };
}

export function isOverfull({ bytes, buckets }: Fill, bytesMax = statusBytesMax): boolean {
  return bytes > bytesMax || buckets > statusBucketsMax;
}
