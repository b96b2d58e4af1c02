/**
 * All PodProtectors of a core.
 *
 * The open admissions of a PodProtector: deletions that were promised and have not settled.
 */
import { bucketKind, bucketWeight } from "../../accounting/history/bucket.ts";
import { fieldsOf } from "../../api/json.ts";
import { epochMicrosOf } from "../../api/micro-time.ts";
import { type CellStatus } from "../../api/v1alpha1/pod-protector.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { podProtectors, readProtector, type StoredProtector } from "../../kube/resources.ts";
import { listAll } from "../../kube/watch/index.ts";
import { type EpochMicros } from "../../util/clock.ts";

/** Present, and of no use to anybody: webhooks refuse what it may protect. */
export interface InvalidProtector {
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
}

export interface ListedProtectors {
  readonly valid: readonly StoredProtector[];
  readonly invalid: readonly InvalidProtector[];
}

/** An object has 2 kB as a rule and 1 MB at most, so a page is small enough to be read at once. */
const pageSize = 250;

/** Page by page. Throws KubeError. */
export async function listProtectors(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<ListedProtectors> {
  const valid: StoredProtector[] = [];
  const invalid: InvalidProtector[] = [];
  await listAll(
    client,
    { resource: podProtectors, namespace },
    (raw) => {
      const read = readProtector(raw);
      if (read.ok) valid.push(read.stored);
      else invalid.push({ ...placeOf(raw), reason: read.reason });
    },
    { signal, pageSize },
  );
  return { valid, invalid };
}

function placeOf(raw: unknown): { readonly namespace: string; readonly name: string } {
  const { namespace, name } = fieldsOf(fieldsOf(raw)["metadata"]);
  return {
    namespace: typeof namespace === "string" ? namespace : "",
    name: typeof name === "string" ? name : "",
  };
}

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
            ? kind.version === undefined || kind.isEvicted
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
