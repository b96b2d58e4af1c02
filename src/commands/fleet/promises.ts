/** The open admissions of a PodProtector: deletions that were promised and have not settled. */
import { bucketKind, bucketWeight } from "../../accounting/history/bucket.ts";
import { epochMicrosOf } from "../../api/micro-time.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";

export interface OpenPromise {
  readonly cellID: string;
  /** "eviction" is also what a Go webhook wrote. "packed": several pods that only their digests tell. */
  readonly kind: "delete" | "eviction" | "packed" | "unknown";
  /** Undefined for several pods, or an unknown one. */
  readonly podUID: string | undefined;
  /** Where webhooks write names. */
  readonly podName: string | undefined;
  /** Digests of the UIDs of packed pods (`digestOfUID`). */
  readonly podUIDDigests: readonly string[];
  /** How many deletions. */
  readonly weight: number;
  /** Milliseconds since the last review of it, at least 0; undefined = its time cannot be read. */
  readonly ageMs: number | undefined;
}

/** The oldest first. */
export function openPromises(cells: readonly CellStatus[], now: EpochMicros): readonly OpenPromise[] {
  const promises = cells.flatMap(({ cellID, admissionHistory }) =>
    (admissionHistory?.buckets ?? []).map((bucket): OpenPromise => {
      const { startTime, podName } = bucket;
      const kind = bucketKind(bucket);
      return {
        cellID,
        kind:
          kind.kind === "single"
            ? kind.version === undefined
              ? "eviction"
              : "delete"
            : kind.kind === "packed"
              ? "packed"
              : "unknown",
        podUID: kind.kind === "single" ? kind.podUID : undefined,
        podName: kind.kind === "single" ? podName : undefined,
        podUIDDigests: kind.kind === "packed" ? kind.digests.list() : [],
        weight: bucketWeight(bucket),
        ageMs: startTime === "" ? undefined : Math.max(0, (now - epochMicrosOf(startTime)) / 1000),
      };
    }),
  );
  return promises.sort((a, b) => (b.ageMs ?? 0) - (a.ageMs ?? 0));
}
