/**
 * Lossless compaction of a cell's admission history (docs/accounting.md#packing). The cost of a status write depends on
 * the number of buckets more than on bytes. So once a cell has more than compactThreshold buckets, its oldest buckets
 * with a version are packed into one.
 *
 * Invariants: the weight of the history does not change, each pod stays findable by its digest, and the version of the
 * packed bucket is not below that of any bucket in it. Buckets of evictions and of Go webhooks and anonymous ones are
 * never packed, because they settle by another rule.
 */
import { newerResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { bucketKind } from "./bucket.ts";
import { digestOfUID, packDigests, type PackedDigests } from "./uid-digest.ts";

/**
 * Share of compactThreshold that stays as single buckets after a packing. Without it every admission would rewrite the
 * packed text. 20 single buckets beside 2,000 digests are cheap (docs/decisions/0009-packing.md).
 */
const singlesKept = 1 / 5;

/**
 * Returns the same list when it has at most `compactThreshold` buckets (values below 1 mean 1) or nothing can be
 * packed.
 * @param takenOut UIDs of pods that this very write takes out of a packed bucket. They stay single for now: if they
 *        were packed again at once, the aggregator would not see the repeated review, and an older fence would seem to
 *        prove that the deletion is dead.
 */
export function compact(
  buckets: readonly Bucket[],
  compactThreshold: number,
  takenOut: ReadonlySet<string>,
): readonly Bucket[] {
  const threshold = Math.max(1, compactThreshold);
  if (buckets.length <= threshold) return buckets;

  const packable = buckets.filter((bucket) => {
    const kind = bucketKind(bucket);
    if (kind.kind === "packed") return true;
    return kind.kind === "single" && kind.version !== undefined && !kind.isEvicted && !takenOut.has(kind.podUID);
  });
  const singles = packable
    .filter((bucket) => bucketKind(bucket).kind === "single")
    // Malformed times sort as the oldest.
    .toSorted((a, b) => (a.startTime < b.startTime ? -1 : a.startTime > b.startTime ? 1 : 0));
  const packed = packable.filter((bucket) => bucketKind(bucket).kind === "packed");
  const merged = [...packed, ...singles.slice(0, Math.max(0, singles.length - Math.floor(threshold * singlesKept)))];
  if (merged.length < 2) return buckets;

  const gone = new Set(merged);
  return [pack(merged), ...buckets.filter((bucket) => !gone.has(bucket))];
}

/** Takes pods out of a packed bucket, which holds `digests`; undefined when nothing is left of it. */
export function withoutDigests(
  bucket: Bucket,
  digests: Pick<PackedDigests, "list">,
  gone: ReadonlySet<string>,
): Bucket | undefined {
  const kept = digests.list().filter((digest) => !gone.has(digest));
  if (kept.length === 0) return undefined;
  return { ...bucket, counter: kept.length, podUIDDigests: packDigests(kept) };
}

function pack(buckets: readonly Bucket[]): Bucket {
  const digests: string[] = [];
  let version: ResourceVersion | undefined;
  let first = buckets[0]?.startTime ?? "";
  let last = first;
  for (const bucket of buckets) {
    const kind = bucketKind(bucket);
    if (kind.kind === "anonymous") continue;
    if (kind.kind === "packed") digests.push(...kind.digests.list());
    else digests.push(digestOfUID(kind.podUID));
    version = newerResourceVersion(version, kind.version);
    const end = bucket.endTime ?? bucket.startTime;
    if (bucket.startTime < first) first = bucket.startTime;
    if (end > last) last = end;
  }
  return {
    startTime: first,
    endTime: last,
    counter: digests.length,
    ...(version === undefined ? {} : { podResourceVersion: version }),
    podUIDDigests: packDigests(digests),
  };
}
