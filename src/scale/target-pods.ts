/**
 * A workload that somebody names: how many replicas it has, and which pods are its own. Those of a built-in kind are
 * what its spec.selector selects; of others what their scale says.
 */
import { type FieldWriter } from "../api/field-writers.ts";
import { readPodSelector } from "../api/v1alpha1/label-selector.ts";
import { type FloorTarget, type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { type ExpectedReplicasOptions, replicasOfOwners } from "./expected-replicas.ts";
import { type KindMapping } from "./kind-mapping.ts";
import { isBuiltIn, type ScalableOwner } from "./owner-chain.ts";
import { type ScaleTrouble, readScaleSelector } from "./read-scale.ts";
import { namedOwner } from "./target-replicas.ts";

export type TargetPods =
  | {
      readonly kind: "known";
      /** 0 while it is being deleted: its pods are to go with it. */
      readonly replicas: number;
      readonly selector: LabelSelector;
      /** Who wrote the replicas last. */
      readonly writer: FieldWriter | undefined;
      /** Its kind while it is being deleted: whoever asks has to look whether its CRD goes with it. */
      readonly ended: readonly KindMapping[];
    }
  | { readonly kind: "unknown"; readonly trouble: ScaleTrouble };

/** Rejects only when `signal` aborts. */
export async function targetPods(
  namespace: string,
  target: FloorTarget & { readonly name: string },
  options: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<TargetPods> {
  const found = await namedOwner(namespace, target, options);
  if ("kind" in found) return { kind: "unknown", trouble: found };
  const answer = await replicasOfOwners([found], [], options, signal);
  if (answer.kind === "lasting" || answer.kind === "notNow") return { kind: "unknown", trouble: answer };
  const selector = await podSelectorOf(found, options, signal);
  if ("text" in selector)
    return { kind: "unknown", trouble: { kind: "lasting", problem: "wrong", text: selector.text } };
  const replicas = answer.kind === "unmanaged" || found.object.isEnding ? 0 : answer.replicas;
  const ended = found.object.isEnding ? [found.mapping] : [];
  return { kind: "known", replicas, selector, writer: found.object.replicasWriter, ended };
}

/** Its scale has just been read where one is needed, so this costs no request. */
async function podSelectorOf(
  { mapping, object }: ScalableOwner,
  { memory }: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<LabelSelector | { readonly text: string }> {
  const { namespace, name, uid, fingerprint } = object;
  if (!isBuiltIn(mapping)) {
    const answer = await memory.read({ mapping, namespace, name, uid }, fingerprint, signal);
    if (answer.kind !== "scale") return { text: `the scale of ${mapping.kind} ${name} cannot be read` };
    const read = readScaleSelector(answer.scale.selector);
    return read.ok ? read.selector : { text: `scale.status.selector of ${mapping.kind} ${name}: ${read.reason}` };
  }
  const isController = mapping.kind === "ReplicationController";
  const selector = readPodSelector(object.selector, isController);
  return selector ?? { text: `spec.selector of ${mapping.kind} ${name} selects everything, or is not valid` };
}
