/**
 * The kinds of admission-history buckets and their weight. Every other file asks here instead of looking at the fields.
 */
import { type ResourceVersion } from "../../api/resource-version.ts";
import { type Bucket } from "../../api/v1alpha1/pod-protector.ts";
import { type PackedDigests, unpackDigests } from "./uid-digest.ts";

export type BucketKind =
  /** One pod. Without a version: an eviction, or written by a Go webhook. */
  | { readonly kind: "single"; readonly podUID: string; readonly version: ResourceVersion | undefined }
  /** Several versioned DELETEs; `version` is the highest of them. */
  | { readonly kind: "packed"; readonly digests: PackedDigests; readonly version: ResourceVersion }
  /** Compacted by a Go component, or malformed: the pods are unknown, only the number is known. */
  | { readonly kind: "anonymous"; readonly counter: number };

/**
 * Classifies a bucket. A bucket that fits no kind is anonymous, so that it keeps its weight until the slowest rule
 * settles it.
 */
export function bucketKind(bucket: Bucket): BucketKind {
  const { podResourceVersion: version } = bucket;
  const weight = bucketWeight(bucket);
  // A pod is admitted once: a name with a larger counter says nothing of the other pods.
  if (bucket.podUID !== undefined && bucket.podUID !== "" && weight === 1)
    return { kind: "single", podUID: bucket.podUID, version };
  if (bucket.podUIDDigests !== undefined && version !== undefined) {
    const digests = unpackDigests(bucket.podUIDDigests);
    if (digests !== undefined && digests.size === weight) return { kind: "packed", digests, version };
  }
  return { kind: "anonymous", counter: weight };
}

/** How many admissions the bucket stands for: its counter, at least 1. */
export function bucketWeight(bucket: Bucket): number {
  return Math.max(1, bucket.counter ?? 1);
}

/** Sum of the weights: the unsettled admissions ("lag"). */
export function totalWeight(buckets: readonly Bucket[] | undefined): number {
  let weight = 0;
  for (const bucket of buckets ?? []) weight += bucketWeight(bucket);
  return weight;
}
