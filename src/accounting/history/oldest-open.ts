/**
 * The oldest unsettled admissions of a PodProtector, for people who wait for them (docs/refusals.md). Ages are by the
 * reader's clock against the startTime that some webhook wrote; nothing is decided by them.
 */
import { epochMicrosOf, type MicroTime } from "../../api/micro-time.ts";
import { type Bucket, type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { bucketKind } from "./bucket.ts";

export interface OpenAdmission {
  readonly cellID: string;
  /** Name of the pod where it is recorded, else its UID; undefined = several pods, or an unknown one. */
  readonly pod: string | undefined;
  /** "eviction" is also what a Go webhook wrote: both settle by the window. */
  readonly kind: "delete" | "eviction" | "packed" | "unknown";
  /** Since the last review of it. */
  readonly ageSeconds: number;
}

/** The oldest first, at most `max`. Buckets with a malformed time are left out. */
export function oldestOpen(cells: readonly CellStatus[], max: number, now: EpochMicros): readonly OpenAdmission[] {
  const oldest: { readonly cellID: string; readonly bucket: Bucket; readonly startTime: MicroTime }[] = [];
  for (const { cellID, admissionHistory } of cells) {
    for (const bucket of admissionHistory?.buckets ?? []) {
      const { startTime } = bucket;
      const last = oldest.at(-1);
      if (startTime === "" || (oldest.length === max && last !== undefined && startTime >= last.startTime)) continue;
      const index = oldest.findIndex((one) => startTime < one.startTime);
      oldest.splice(index === -1 ? oldest.length : index, 0, { cellID, bucket, startTime });
      if (oldest.length > max) oldest.pop();
    }
  }
  return oldest.map(({ cellID, bucket, startTime }) => ({
    cellID,
    ...podAndKind(bucket),
    ageSeconds: Math.max(0, Math.floor((now - epochMicrosOf(startTime)) / 1_000_000)),
  }));
}

function podAndKind(bucket: Bucket): Pick<OpenAdmission, "pod" | "kind"> {
  const kind = bucketKind(bucket);
  if (kind.kind === "packed") return { pod: undefined, kind: "packed" };
  if (kind.kind === "anonymous") return { pod: undefined, kind: "unknown" };
  return { pod: bucket.podName ?? kind.podUID, kind: kind.version === undefined ? "eviction" : "delete" };
}
