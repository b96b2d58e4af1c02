/**
 * How many replicas the workloads have that somebody names, or selects by labels, by kind. What is named and is not
 * there leaves the sum unknown, as an owner that is gone does: who asks keeps what was in force.
 */
import { type FloorTarget } from "../api/v1alpha1/pod-protector.ts";
import { compileSelector } from "../label-index/index.ts";
import { type ExpectedReplicas, type ExpectedReplicasOptions, replicasOfOwners } from "./expected-replicas.ts";
import { type KindMapping } from "./kind-mapping.ts";
import { mappingOf, type ScalableOwner } from "./owner-chain.ts";
import { type OwnerObject, type UnlistedKind } from "./owner-objects.ts";

type Unknown = Exclude<ExpectedReplicas, { readonly kind: "known" | "unmanaged" }>;

/** One that two targets mean counts once. Rejects only when `signal` aborts. */
export async function targetReplicas(
  namespace: string,
  targets: readonly FloorTarget[],
  options: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<ExpectedReplicas> {
  const owners = new Map<string, ScalableOwner>();
  for (const [index, target] of targets.entries()) {
    const found = await ownersOf(namespace, target, options);
    if ("kind" in found) return { ...found, text: `targets[${index}]: ${found.text}` };
    for (const owner of found) owners.set(owner.object.uid, owner);
  }
  return await replicasOfOwners([...owners.values()], options, signal);
}

async function ownersOf(
  namespace: string,
  target: FloorTarget,
  options: ExpectedReplicasOptions,
): Promise<readonly ScalableOwner[] | Unknown> {
  const { kind, name, selector } = target;
  if (name !== undefined) {
    const owner = await namedOwner(namespace, { ...target, name }, options);
    return "kind" in owner ? owner : [owner];
  }
  const mapping = await scalableKind(target, options);
  if ("text" in mapping) return mapping;
  const { objects } = options;
  const compiled = compileSelector(selector ?? {});
  if (!compiled.ok) return lasting(`selector: ${compiled.reason}`);
  const selected = await objects.select(mapping, namespace, compiled.selector);
  if ("kind" in selected) return unlisted(kind, selected);
  const present = withoutEnding(mapping, selected);
  return present.length > 0 ? present : lasting(`no ${kind} has the labels of its selector`);
}

/** The workload of that name. */
export async function namedOwner(
  namespace: string,
  target: FloorTarget & { readonly name: string },
  options: ExpectedReplicasOptions,
): Promise<ScalableOwner | Unknown> {
  const { kind, name } = target;
  const mapping = await scalableKind(target, options);
  if ("text" in mapping) return mapping;
  const answer = await options.objects.read(mapping, namespace, name);
  if (answer.kind === "unlisted") return unlisted(kind, answer);
  return answer.kind === "present" ? { mapping, object: answer.object } : lasting(`${kind} ${name} is not there`);
}

async function scalableKind(
  { apiVersion, kind }: FloorTarget,
  { discovery }: ExpectedReplicasOptions,
): Promise<KindMapping | Unknown> {
  const mapped = await mappingOf(apiVersion, kind, discovery);
  if (mapped.kind === "notNow") return { kind: "notNow", text: mapped.error.message };
  if (mapped.kind === "unserved") return lasting(`${kind} of ${apiVersion} is not served`);
  const { mapping } = mapped;
  if (!mapping.isNamespaced) return lasting(`a ${kind} is in no namespace`);
  return mapping.hasScale ? mapping : lasting(`${kind} has no subresource scale`);
}

/** What is being deleted, and takes its pods along, is not selected any more. */
function withoutEnding(mapping: KindMapping, objects: readonly OwnerObject[]): readonly ScalableOwner[] {
  return objects.filter(({ isEnding }) => !isEnding).map((object) => ({ mapping, object }));
}

function unlisted(kind: string, { isForbidden, text }: UnlistedKind): Unknown {
  return { kind: isForbidden ? "lasting" : "notNow", text: `${kind}: ${text}` };
}

function lasting(text: string): Unknown {
  return { kind: "lasting", text };
}
