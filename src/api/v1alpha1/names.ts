/**
 * Names that other programs see: API group, labels, annotations, finalizer. All are upstream's unless marked as
 * extension. And what generator and webhook have to agree on beside them.
 */
import { fieldsOf } from "../json.ts";

const prefix = "podseidon.kubewharf.io";

export const apiGroup = prefix;
export const apiVersion = `${prefix}/v1alpha1` as const;
export const podProtectorResource = "podprotectors";

export const finalizer = `${prefix}/generator`;

/** Labels on a generated PodProtector that name its source object. */
export const sourceLabels = {
  name: `${prefix}/source-name`,
  group: `${prefix}/source-group`,
  kind: `${prefix}/source-kind`,
  resource: `${prefix}/source-resource`,
} as const;

export const labels = {
  /**
   * Extension. Namespace in the core: whether the webhook admits by the last known quota while the core accepts no
   * writes.
   */
  coreUnavailablePolicy: `${prefix}/core-unavailable-policy`,
  /** Extension. Namespace in the core: "allow" = its changes are never held, however many they are. */
  massChanges: `${prefix}/mass-changes`,
  /** Extension. Namespace in the core: whether its workloads get PodProtectors, and whether these refuse. */
  mode: `${prefix}/mode`,
  /** Extension. Namespace in the core: spec.healthCriterion of the PodProtectors of its workloads. */
  healthCriterion: `${prefix}/health-criterion`,
  /** Extension. Namespace in the core: as the annotation `keep` of each of its workloads. */
  keep: `${prefix}/keep`,
} as const;

export const annotations = {
  /** PodProtector: comma list of cell IDs that the generator removes from the status, once. */
  removeCellOnce: `${prefix}/remove-cell-once`,
  /** Extension. PodProtector: set by the generator before it deletes the object; it is no longer in force. */
  released: `${prefix}/released`,
  /**
   * Extension. PodProtector: set by this generator on what it makes and keeps. Such an object is in force until it is
   * marked as released, or its UID is in the list of releases: its absence alone means nothing.
   */
  generated: `${prefix}/generated`,
  /** Extension. PodProtector: highest floor before its source lowered it, `<floor>@<RFC 3339>`. */
  floorBefore: `${prefix}/floor-before`,
  /**
   * Extension. PodProtector: "shadow" = it is judged and recorded as ever, and refuses nothing. The generator keeps it
   * on what it makes, by the label of the namespace.
   */
  mode: `${prefix}/mode`,
  /**
   * Extension. PodProtector: the floor below which it falls by an approval only, a whole number from 1. The generator
   * keeps it, by the word of the workload or its namespace, which it outlasts (generator/sources/kept.ts).
   */
  keep: labels.keep,
  /** Extension. The generator's ConfigMap, by a person: lets held changes pass (generator/mass-changes/approval.ts). */
  approve: `${prefix}/approve`,
  /** Pod or Eviction: present = deletion is always allowed. */
  forceDelete: `${prefix}/force-delete`,
  /** Extension. PodProtector: which fields of its spec are there by an override, so that they go with it. */
  overridden: `${prefix}/overridden`,
  /** Pod or Eviction: the criterion by which the deletion is judged. Extension: a workload, for all of its pods. */
  healthCriterion: `${prefix}/health-criterion`,
  /** The dummy pod of update-trigger: RFC 3339 time of the last touch. */
  updateTriggerTime: `${prefix}/update-trigger-time`,
  /**
   * Extension. Pod: moves the pod's version so that a deletion in flight cannot commit
   * (accounting/settle/settlement.ts).
   */
  fence: `${prefix}/fence`,
  /**
   * Extension. ServiceAccount: since when and until when the token is good that another cluster has of it,
   * `<RFC 3339>/<RFC 3339>`. Kept by `podseidon install`, read by `podseidon check`.
   */
  handedToken: `${prefix}/handed-token`,
} as const;

/** Extension. Annotations of a workload that override what the generator derives (sources/overrides.ts). */
export const overrides = {
  minAvailable: `${prefix}/min-available`,
  maxUnavailable: `${prefix}/max-unavailable`,
  minReadySeconds: `${prefix}/min-ready-seconds`,
  healthCriterion: annotations.healthCriterion,
  /** The most pods that one cell can have: whatever a cell says of itself, it counts for no more. */
  maxPodsPerCell: `${prefix}/max-pods-per-cell`,
  maxConcurrentLag: `${prefix}/max-concurrent-lag`,
  compactThreshold: `${prefix}/compact-threshold`,
  aggregationRateMillis: `${prefix}/aggregation-rate-millis`,
  /** Its falls are held, however few they are: below a number, or "true" for half of the last approved floor. */
  keep: annotations.keep,
  /** Kinds of controllers, besides those that are never a workload's, whose pods are left out. */
  foreignOwners: `${prefix}/foreign-owners`,
  /** "false": it wants no PodProtector, whatever the flags select. */
  protect: `${prefix}/protect`,
} as const;

/**
 * Whether a PodProtector is in shadow, by its metadata, valid or not: judged and recorded as usual, and refusing
 * nothing (docs/generator.md#modes). Any other value than "shadow" is in force. Never throws.
 */
export function isInShadow(metadata: unknown): boolean {
  return fieldsOf(fieldsOf(metadata)["annotations"])[annotations.mode] === "shadow";
}

/**
 * How long after the generator has seen it a floor that falls to less than half is judged, in milliseconds
 * (docs/mass-changes.md): most of a burst by a garbage collector or a script is there then. Webhooks hold a deletion
 * that waits for such a floor for a little longer.
 */
export const deepFallDelayMs = 2_000;
