/** What the generator makes of workloads: the part of its settings that is no matter of queues and elections. */
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";

/** Kinds of workloads that PodProtectors can be generated for: the resource, a dot, the group. */
export const sourceIDs = [
  "deployments.apps",
  "statefulsets.apps",
  "replicasets.apps",
  "replicationcontrollers",
] as const;
export type SourceID = (typeof sourceIDs)[number];

export interface GeneratorRules {
  /** Only these get PodProtectors. */
  readonly sources: readonly SourceID[];
  /** Sources of kinds without a selector of their own that do not match get no PodProtector. */
  readonly sourceSelector: LabelSelector;
  /** How a maxUnavailable percentage above zero becomes a number of pods. */
  readonly percentRounding: "at-least-one" | "up" | "down";
  /** Whether the only replica of a source must stay where the percentage alone would let it go. */
  readonly singleReplica: "drainable" | "protected";
  /** Sums over all PodProtectors are served as metrics. */
  readonly hasMonitor: boolean;
  readonly massChanges: {
    /** What becomes of changes of sources that are too many at once. */
    readonly policy: "hold" | "trickle" | "allow";
    /** Field managers whose changes never count. */
    readonly allow: readonly string[];
  };
  readonly deploymentPlugin: {
    /** Deployments that do not match get no PodProtector. */
    readonly protectionSelector: LabelSelector;
    /** Keep protecting a terminating Deployment until it is scaled to zero. */
    readonly protectNonZero: boolean;
  };
}
