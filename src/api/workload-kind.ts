/**
 * The kind of workload that a pod belongs to, as people know it: of its controller, or of that one's controller where a
 * label tells.
 */
import { asList, fieldsOf } from "./json.ts";
import { type Unchecked, type V1ObjectMeta, type V1OwnerReference } from "./models.ts";

/** Of a pod that nobody controls. */
export const noWorkload = "Pod";
/** In place of a kind that cannot be one. */
export const otherWorkload = "other";

/** Reads it from the metadata of a pod; undefined = it is not wanted. */
export type ReadWorkloadKind = (metadata: Unchecked<V1ObjectMeta>) => string | undefined;

/** A kind is the name of a type: anybody who makes pods may write anything there. */
const kindPattern = /^[A-Za-z][A-Za-z0-9]{0,62}$/;

/**
 * By the labels that the controllers of Deployments and of Argo Rollouts set on their ReplicaSets and pods: a pod
 * itself names its ReplicaSet only.
 */
const ownersOfReplicaSets = [
  ["pod-template-hash", "Deployment"],
  ["rollouts-pod-template-hash", "Rollout"],
] as const;

/** Never throws, whatever the metadata holds. */
export function readWorkloadKind(metadata: Unchecked<V1ObjectMeta>): string {
  const owners = asList(metadata.ownerReferences).map((owner) => fieldsOf<V1OwnerReference>(owner));
  const controller = owners.find((owner) => owner.controller === true);
  if (controller === undefined) return noWorkload;
  const { kind } = controller;
  if (typeof kind !== "string" || !kindPattern.test(kind)) return otherWorkload;
  if (kind !== "ReplicaSet") return kind;
  const labels = fieldsOf(metadata.labels);
  return ownersOfReplicaSets.find(([label]) => Object.hasOwn(labels, label))?.[1] ?? kind;
}
