/**
 * The PodProtector object as it travels: group podseidon.kubewharf.io, version v1alpha1. Field names are the CRD's.
 * Fields marked "extension" do not exist upstream: a Go component drops them when it writes, and their absence means
 * upstream's behaviour.
 *
 * What is in memory is what is sent: versions and times of the status are texts of one form, checked once by decode.ts
 * (docs/decisions/0015-parsed-at-the-door.md).
 */
import { type MicroTime } from "../micro-time.ts";
import { type Sent, type V1Condition, type V1ObjectMeta, type V1OwnerReference } from "../models.ts";
import { type ResourceVersion } from "../resource-version.ts";
import { annotations } from "./names.ts";

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}
/** metav1.LabelSelector: all requirements must hold; the empty selector matches everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export type OwnerReference = Sent<V1OwnerReference>;
/** metav1.ObjectMeta, with what every object of a namespace has. */
export type ObjectMeta = Sent<V1ObjectMeta> &
  Readonly<Record<"name" | "namespace" | "uid" | "resourceVersion", string>>;

/** Its spec was never changed, and asks for nothing: whether it is there makes no difference to anybody. */
export function neverHadFloor({ metadata, spec }: Pick<PodProtector, "metadata" | "spec">): boolean {
  return metadata.generation === 1 && spec.minAvailable === 0;
}

/** Per-object override of three flags; an absent field means the flag's value. */
export interface AdmissionHistoryConfig {
  /** Most unsettled admissions over all cells; 0 = unlimited. */
  readonly maxConcurrentLag?: number;
  /** Most buckets of one cell before the versioned ones are packed; at least 1. */
  readonly compactThreshold?: number;
  /** Milliseconds from a pod event to the aggregation. */
  readonly aggregationRateMillis?: number;
}

/** Workloads of one kind in the namespace of the PodProtector: the one of that name, or all that are selected. */
export interface FloorTarget {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string;
  readonly selector?: LabelSelector;
}

export interface PodProtectorSpec {
  /** Pods that must stay available, summed over all cells; at least 0. */
  readonly minAvailable: number;
  /** Seconds of readiness before a pod counts as available; at least 0. */
  readonly minReadySeconds: number;
  /** Which pods are protected. */
  readonly selector: LabelSelector;
  /** Which pods are counted; `selector` when absent. Meant to be a superset of `selector`. */
  readonly aggregationSelector?: LabelSelector;
  /**
   * Extension: by what deletions are judged that ask for no criterion; Available when absent. Any text, as far as types
   * go: another CRD may check nothing (accounting/count/health-criterion.ts).
   */
  readonly healthCriterion?: string;
  /** Extension: a cell counts for no more pods, whatever it says of itself; at least 1. Absent = no limit. */
  readonly maxPodsPerCell?: number;
  readonly admissionHistoryConfig?: AdmissionHistoryConfig;
  /**
   * Extension: kinds of controllers, as "Job.batch" or "Node", whose pods are left out: neither counted nor protected
   * (docs/accounting.md#foreign-pods). Absent = none.
   */
  readonly foreignOwners?: readonly string[];
  /**
   * Extension, of a hand-made PodProtector, as the two below: the workloads of the core whose replicas the generator
   * derives minAvailable from. Any value, as far as types go (sources/followed-protector.ts).
   */
  readonly targets?: readonly FloorTarget[];
  /** Extension: replicas that may be away, a number or a percentage such as "25%". */
  readonly maxUnavailable?: number | string;
  /** Extension, in place of maxUnavailable: the share of the replicas that must stay, from 0 to 100. */
  readonly minAvailablePercent?: number;
}

/** In place of a time that cannot be read. As a text it is before every time. */
export type MalformedTime = "";

/**
 * One admitted and not yet settled deletion, or several in one.
 * - single: `podUID` set, weight 1. With `podResourceVersion` a DELETE, with `evictionResourceVersion` an eviction that
 *   names the version that was read, without both another eviction or an entry of a Go webhook.
 * - packed (extension): `podUIDDigests` set; `counter` equals the number of digests.
 * - compacted by Go: neither; `endTime` and `counter` set, pods unknown.
 */
export interface Bucket {
  /** The (first) admission; a repeated review refreshes it on a single bucket. */
  readonly startTime: MicroTime | MalformedTime;
  readonly podName?: string;
  readonly podUID?: string;
  /** The last admission merged into this bucket. */
  readonly endTime?: MicroTime | MalformedTime;
  /** Number of admissions; 1 when absent. */
  readonly counter?: number;
  /** Extension: highest version at which a DELETE of the pod (packed: of any of the pods) was admitted. */
  readonly podResourceVersion?: ResourceVersion;
  /**
   * Extension: highest version that an eviction of the pod named, or a DELETE beside it was admitted at. Not the same
   * field, so that whoever does not know it takes the bucket for one of an eviction without a version.
   */
  readonly evictionResourceVersion?: ResourceVersion;
  /** Extension: base64 of the 8-byte digests of the packed pods' UIDs, one after the other. */
  readonly podUIDDigests?: string;
}

export interface Aggregation {
  readonly totalReplicas: number;
  readonly availableReplicas: number;
  readonly readyReplicas?: number;
  readonly scheduledReplicas?: number;
  readonly runningReplicas?: number;
  /** Extension. */
  readonly initializedReplicas?: number;
  /** Extension: pods that are not Ready only because their kubelets are not heard; absent = none, or not counted. */
  readonly unseenReplicas?: number;
  /** Extension: pods that match and belong to other owners, counted or left out; absent = none, or not told. */
  readonly foreignReplicas?: number;
  /**
   * Extension: of spec.foreignOwners, those of which the cell had pods, which these counts leave out. Absent: none, or
   * whoever counted leaves out nothing.
   */
  readonly countedOwners?: readonly string[];
  /** The newest moment certainly covered by the counts. Written for upstream's readers and for people. */
  readonly lastEventTime?: MicroTime;
  /** Extension: the pod version that the counted snapshot had reached (worker cluster's versions). */
  readonly resourceVersion?: ResourceVersion;
  /** Extension: the aggregator's clock at counting. */
  readonly countedAt?: MicroTime;
  /**
   * Extension: the newest moment at which a pod would be available by its own Ready time, of those whose times the
   * counts do not go by; absent when none is after countedAt (docs/accounting.md#ready-times).
   */
  readonly countedAhead?: MicroTime;
  /** Extension: mark of the last counting that did not look at the recorded version (docs/accounting.md#restores). */
  readonly recountedAt?: MicroTime;
  /** Extension: hash of what was counted, see src/accounting/count/counted-spec.ts. */
  readonly countedSpec?: string;
  /** Extension: minReadySeconds that was counted by. */
  readonly countedMinReadySeconds?: number;
  /** Extension: generation of the PodProtector that was counted by. */
  readonly countedGeneration?: number;
}

export interface CellStatus {
  readonly cellID: string;
  readonly aggregation?: Aggregation;
  readonly admissionHistory?: { readonly buckets?: readonly Bucket[] };
}

export interface Summary {
  readonly totalReplicas: number;
  readonly aggregatedAvailableReplicas: number;
  /** aggregatedAvailableReplicas minus the weights of all buckets; may be negative. */
  readonly estimatedAvailableReplicas: number;
  /**
   * Milliseconds by which the newest admission is ahead of what its cell's counts cover. Time in which nothing happened
   * to the object is left out (docs/accounting.md#observed-time).
   */
  readonly maxLatencyMillis?: number;
  readonly aggregatedReady?: number;
  readonly aggregatedScheduled?: number;
  readonly aggregatedRunning?: number;
  /** Extension. */
  readonly aggregatedInitialized?: number;
  /** Extension: the weights of all buckets, those beyond the counts of their cell left out. */
  readonly promised?: number;
  /** Extension: deletions that may still be admitted, by the PodProtector's own criterion; for people "free". */
  readonly disruptionsAllowed?: number;
  /** Extension: cells that have counts, whatever spec they answer. */
  readonly countedCells?: number;
}

/** metav1.Condition. */
export interface Condition extends Sent<Omit<V1Condition, "status">> {
  readonly status: "True" | "False" | "Unknown";
}

export interface PodProtectorStatus {
  readonly cells: readonly CellStatus[];
  readonly summary: Summary;
  /** Extension. */
  readonly conditions?: readonly Condition[];
}

export interface PodProtector {
  readonly apiVersion: "podseidon.kubewharf.io/v1alpha1";
  readonly kind: "PodProtector";
  readonly metadata: ObjectMeta;
  readonly spec: PodProtectorSpec;
  /** Absent until it is first written. */
  readonly status?: PodProtectorStatus;
}

/** When it was made, by the clock of an API server, to the second. */
export interface Birth {
  readonly creationTimestamp?: string | undefined;
}

/** Whether an object is not younger than another one. Where either does not say, it is younger. */
export function isOlder({ creationTimestamp: own }: Birth, { creationTimestamp: others }: Birth): boolean {
  return own !== undefined && others !== undefined && own <= others;
}

/** If its source is gone too, it is to be deleted: a generator has begun that, or a person asks for it. */
export function isReleased({ metadata }: Pick<PodProtector, "metadata">): boolean {
  return metadata.annotations?.[annotations.released] !== undefined;
}
