/**
 * The kinds of buckets of the admission history, and their weight (docs/accounting.md#what-is-recorded). Other files
 * ask here instead of looking at the fields.
 */
import { newerResourceVersion, type ResourceVersion } from "../../api/resource-version.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { type PackedDigests, unpackDigests } from "./uid-digest.ts";

export type BucketKind =
  /**
   * One pod. Without a version: an eviction that names none, or written by a Go webhook. `isEvicted`: by an eviction
   * that names the version that was read, whose API server moves the version itself before it deletes.
   */
  | {
      readonly kind: "single";
      readonly podUID: string;
      readonly version: ResourceVersion | undefined;
      readonly isEvicted: boolean;
    }
  /** Several versioned DELETEs; `version` is the highest of them. */
  | { readonly kind: "packed"; readonly digests: PackedDigests; readonly version: ResourceVersion }
  /** Compacted by a Go component, or malformed: only the number of pods is known. */
  | { readonly kind: "anonymous"; readonly counter: number };

/**
 * Classifies a bucket. One that fits no other kind is anonymous: it keeps its weight until the slowest rule settles it.
 * Invariant: no bucket, however malformed, weighs less than 1.
 */
export function bucketKind(bucket: Bucket): BucketKind {
  const { podResourceVersion: version } = bucket;
  const weight = bucketWeight(bucket);
  // A pod is admitted once. With a larger counter the other pods are unknown.
  if (bucket.podUID !== undefined && bucket.podUID !== "" && weight === 1) {
    const { podUID, evictionResourceVersion: evicted } = bucket;
    if (evicted === undefined) return { kind: "single", podUID, version, isEvicted: false };
    return { kind: "single", podUID, version: newerResourceVersion(evicted, version), isEvicted: true };
  }
  if (bucket.podUIDDigests !== undefined && version !== undefined) {
    const digests = unpackDigests(bucket.podUIDDigests);
    if (digests !== undefined && digests.size === weight) return { kind: "packed", digests, version };
  }
  return { kind: "anonymous", counter: weight };
}

/** The number of admissions in the bucket: its counter, at least 1. */
export function bucketWeight(bucket: Bucket): number {
  return Math.max(1, bucket.counter ?? 1);
}

/** Sum of the weights: the unsettled admissions ("lag"). */
export function totalWeight(buckets: readonly Bucket[] | undefined): number {
  let weight = 0;
  for (const bucket of buckets ?? []) weight += bucketWeight(bucket);
  return weight;
}
