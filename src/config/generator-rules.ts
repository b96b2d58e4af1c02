/** What the generator makes of workloads: the part of its settings that is no matter of queues and elections. */
import { type LabelSelector } from "../api/v1alpha1/pod-protector.ts";

/** Kinds of workloads, and budgets, that PodProtectors can be generated for: the resource, a dot, the group. */
export const sourceIDs = [
  "deployments.apps",
  "statefulsets.apps",
  "replicasets.apps",
  "replicationcontrollers",
  "clonesets.apps.kruise.io",
  "statefulsets.apps.kruise.io",
  "rollouts.argoproj.io",
  "poddisruptionbudgets.policy",
  "podunavailablebudgets.policy.kruise.io",
] as const;
export type SourceID = (typeof sourceIDs)[number];

/** Any other kind that has a subresource scale, such as `databases.example.com`. */
export type CustomSourceID = `${string}.${string}.${string}`;

/** Groups of custom resources have a dot, so that a mistake such as `statefulset.apps` is none of these. */
const customSourceID = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?){2,}$/;
/** Names of PodProtectors begin with it, and have 253 characters at most: some are left for those of the objects. */
const customSourceLengthMax = 150;

/** Whether it names a kind that is not built in. */
export function isCustomSourceID(text: string): text is CustomSourceID {
  if (sourceIDs.some((id) => id === text)) return false;
  return text.length <= customSourceLengthMax && customSourceID.test(text);
}

/** The resource and the group of an ID. */
export function partsOfSourceID(id: CustomSourceID): { readonly plural: string; readonly group: string } {
  const dot = id.indexOf(".");
  return { plural: id.slice(0, dot), group: id.slice(dot + 1) };
}

/** What becomes of the workloads of a namespace (docs/generator.md#modes). */
export const namespaceModes = ["enforced", "shadow", "off"] as const;
export type NamespaceMode = (typeof namespaceModes)[number];

export interface GeneratorRules {
  /** Only these get PodProtectors. */
  readonly sources: readonly (SourceID | CustomSourceID)[];
  /** Sources of kinds without a selector of their own that do not match get no PodProtector. */
  readonly sourceSelector: LabelSelector;
  /** Of namespaces without the label; system namespaces are off. */
  readonly defaultMode: NamespaceMode;
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

/**
 * Namespaces that Podseidon leaves alone: its own, and those of what pods need before they can start anywhere (network,
 * storage, policies, certificates). Deletions there are not sent to the webhook: while no webhook runs, that would keep
 * broken pods that the webhook's own pods wait for. The manifests' webhook configuration and docs/install.md have the
 * same list; tests compare them.
 */
export const systemNamespaces: readonly string[] = [
  "kube-system",
  "podseidon-system",
  "calico-apiserver",
  "calico-system",
  "cert-manager",
  "cilium",
  "gatekeeper-system",
  "kube-flannel",
  "kyverno",
  "longhorn-system",
  "openebs",
  "rook-ceph",
  "tigera-operator",
];
