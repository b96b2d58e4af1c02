/**
 * The oldest unsettled admissions of a PodProtector, for people who wait for them (docs/refusals.md). Ages are by the
 * reader's clock against the startTime that some webhook wrote; nothing is decided by them.
 */
import { epochMicrosOf, type MicroTime } from "../../api/micro-time.ts";
import { type Bucket, type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { bucketKind } from "./bucket.ts";

/** "eviction" is also what a Go webhook wrote: both settle by the window. */
export const openKinds = ["delete", "eviction", "packed", "unknown"] as const;
type OpenKind = (typeof openKinds)[number];

export interface OpenAdmission {
  readonly cellID: string;
  /** Name of the pod where it is recorded, else its UID; undefined = several pods, or an unknown one. */
  readonly pod: string | undefined;
  readonly kind: OpenKind;
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
    ageSeconds: ageSeconds(startTime, now),
  }));
}

/** Whole seconds since the last review of the oldest admission of each kind; 0 where there is none. */
export function oldestAges(
  histories: Iterable<readonly Bucket[]>,
  now: EpochMicros,
): Readonly<Record<OpenKind, number>> {
  const oldest = new Map<OpenKind, MicroTime>();
  for (const buckets of histories) {
    for (const bucket of buckets) {
      const { startTime } = bucket;
      if (startTime === "") continue;
      const { kind } = podAndKind(bucket);
      const before = oldest.get(kind);
      if (before === undefined || startTime < before) oldest.set(kind, startTime);
    }
  }
  const ageOf = (kind: OpenKind): number => {
    const startTime = oldest.get(kind);
    return startTime === undefined ? 0 : ageSeconds(startTime, now);
  };
  return { delete: ageOf("delete"), eviction: ageOf("eviction"), packed: ageOf("packed"), unknown: ageOf("unknown") };
}

/** 0 when the clock of the writer is ahead. */
function ageSeconds(startTime: MicroTime, now: EpochMicros): number {
  return Math.max(0, Math.floor((now - epochMicrosOf(startTime)) / 1_000_000));
}

function podAndKind(bucket: Bucket): Pick<OpenAdmission, "pod" | "kind"> {
  const kind = bucketKind(bucket);
  if (kind.kind === "packed") return { pod: undefined, kind: "packed" };
  if (kind.kind === "anonymous") return { pod: undefined, kind: "unknown" };
  return { pod: bucket.podName ?? kind.podUID, kind: kind.version === undefined ? "eviction" : "delete" };
}
