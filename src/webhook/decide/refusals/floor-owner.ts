/**
 * Whose fields set the floor of a PodProtector, so that a refusal can say what to change and where
 * (docs/refusals.md#too-few-replicas). A generated PodProtector is never to be edited: the generator undoes that.
 */
import { asList, fieldsOf, type Json } from "../../../api/json.ts";
import { type ConditionType, holdingCondition } from "../../../api/v1alpha1/conditions.ts";
import { finalizer, overrides as annotations, sourceLabels } from "../../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../../api/v1alpha1/pod-protector.ts";
import { followedProtectors, isFollowing } from "../../../sources/followed-protector.ts";
import { sourceKinds } from "../../../sources/index.ts";
import { printable } from "../../../util/printable.ts";

export interface FloorOwner {
  /** "Deployment default/web", "StatefulSet.apps.kruise.io default/db". */
  readonly name: string;
  /** The fields that set the floor, for a sentence. */
  readonly fields: string;
  /** Where a person may have set it instead, for a sentence; absent = nowhere. */
  readonly overrides?: string;
  /** What the generator undoes. */
  readonly undone: string;
  /** By the generator's word, it is gone although nobody deleted it. */
  readonly hasVanished: boolean;
  /** By the generator's word, the floor is as high as the number of replicas. */
  readonly isUndrainable: boolean;
  /** What replaces its pods by others before they go, as a command for kubectl; undefined = not known. */
  readonly restart?: string | undefined;
}

/** Undefined for a hand-made PodProtector that sets its floor itself: no generator has resolved it by workloads. */
export function floorOwnerOf(protector: PodProtector): FloorOwner | undefined {
  const { metadata, status } = protector;
  const { namespace, labels = {}, finalizers = [] } = metadata;
  const { [sourceLabels.kind]: kind, [sourceLabels.group]: group = "" } = labels;
  const holds = (type: ConditionType): boolean => holdingCondition(status?.conditions, type) !== undefined;
  if (kind === undefined || !finalizers.includes(finalizer)) {
    if (!isFollowing(protector) || !holds("FloorResolved")) return undefined;
    const { floorFields: fields } = followedProtectors;
    const undone = "edits of its spec.minAvailable";
    const name = printable(`PodProtector ${namespace}/${metadata.name}`);
    return { name, fields, undone, hasVanished: false, isUndrainable: holds("Undrainable") };
  }
  const name = wholeNameOf(metadata.ownerReferences, kind, group) ?? labels[sourceLabels.name] ?? "";
  return {
    // Others use the names of custom kinds too. As `kubectl edit` takes it.
    name: printable(`${kind}${group.includes(".") ? `.${group}` : ""} ${namespace}/${name}`),
    fields: sourceKinds.find((one) => one.kind === kind && one.resource.group === group)?.floorFields ?? "its spec",
    overrides: `its annotation ${annotations.minAvailable} or ${annotations.maxUnavailable}`,
    undone: "edits of the PodProtector",
    hasVanished: holds("Dangling"),
    isUndrainable: holds("Undrainable"),
    restart: kind === "Deployment" && group === "apps" ? restartOf(namespace, name) : undefined,
  };
}

/** With a maxUnavailable of 0 a Deployment has a maxSurge. What is no name is nothing to be pasted into a shell. */
function restartOf(namespace: string, name: string): string | undefined {
  if (![namespace, name].every((one) => /^[a-z0-9][-.a-z0-9]*$/.test(one))) return undefined;
  return `kubectl -n ${namespace} rollout restart deployment ${name}`;
}

/** The workload that a generated PodProtector stands for, as an Event refers to it; undefined = none that is known. */
export function workloadOf(
  protector: PodProtector,
): { readonly apiVersion: string; readonly kind: string; readonly name: string; readonly uid: string } | undefined {
  const { labels = {}, finalizers = [], ownerReferences } = protector.metadata;
  const { [sourceLabels.kind]: kind, [sourceLabels.group]: group = "" } = labels;
  if (kind === undefined || !finalizers.includes(finalizer)) return undefined;
  const { apiVersion, name, uid } = ownerOf(ownerReferences, kind, group) ?? {};
  if (typeof apiVersion !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  return { apiVersion, kind, name, uid };
}

/** The label may hold a shortened name. */
function wholeNameOf(ownerReferences: unknown, kind: string, group: string): string | undefined {
  const owner = ownerOf(ownerReferences, kind, group);
  return typeof owner?.["name"] === "string" ? owner["name"] : undefined;
}

/** `ownerReferences` is not checked when an object is read. */
function ownerOf(ownerReferences: unknown, kind: string, group: string): Json | undefined {
  const start = group === "" ? "" : `${group}/`;
  return asList(ownerReferences)
    .map(fieldsOf)
    .find((one) => one["kind"] === kind && String(one["apiVersion"]).startsWith(start));
}
