/**
 * How many replicas the workloads have that somebody names, or selects by labels, by kind. What is named and is not
 * there leaves the sum unknown, as an owner that is gone does: who asks keeps what was in force.
 */
import { type FloorTarget, type LabelSelector } from "../api/v1alpha1/pod-protector.ts";
import { compileSelector } from "../label-index/index.ts";
import { type ExpectedReplicas, type ExpectedReplicasOptions, replicasOfOwners } from "./expected-replicas.ts";
import { type KindMapping } from "./discovery.ts";
import { mappingOf, type ScalableOwner, isBuiltIn } from "./owner-chain.ts";
import { type OwnerObject, type UnlistedKind } from "./owner-objects.ts";
import { type ScaleTrouble, readScaleSelector } from "./read-scale.ts";
import { type FieldWriter } from "../api/field-writers.ts";
import { readPodSelector } from "../api/v1alpha1/label-selector.ts";

interface Selected {
  readonly owners: readonly ScalableOwner[];
  /** As in the answer. */
  readonly ended: readonly KindMapping[];
}

/** One that two targets mean counts once. Rejects only when `signal` aborts. */
export async function targetReplicas(
  namespace: string,
  targets: readonly FloorTarget[],
  options: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<ExpectedReplicas> {
  const owners = new Map<string, ScalableOwner>();
  const ended: KindMapping[] = [];
  for (const [index, target] of targets.entries()) {
    const found = await ownersOf(namespace, target, options);
    if ("kind" in found) return { ...found, text: `targets[${index}]: ${found.text}` };
    for (const owner of found.owners) owners.set(owner.object.uid, owner);
    ended.push(...found.ended);
  }
  return await replicasOfOwners([...owners.values()], ended, options, signal);
}

async function ownersOf(
  namespace: string,
  target: FloorTarget,
  options: ExpectedReplicasOptions,
): Promise<Selected | ScaleTrouble> {
  const { name, selector } = target;
  if (name !== undefined) {
    const owner = await namedOwner(namespace, { ...target, name }, options);
    return "kind" in owner ? owner : { owners: [owner], ended: [] };
  }
  const mapping = await scalableKind(target, options);
  if ("text" in mapping) return mapping;
  return await selectedOwners(mapping, namespace, selector ?? {}, options);
}

async function selectedOwners(
  mapping: KindMapping,
  namespace: string,
  selector: LabelSelector,
  { discovery, objects }: ExpectedReplicasOptions,
): Promise<Selected | ScaleTrouble> {
  const { kind } = mapping;
  const compiled = compileSelector(selector);
  if (!compiled.ok) return lasting(`selector: ${compiled.reason}`);
  const selected = await objects.select(mapping, namespace, compiled.selector);
  if ("kind" in selected) return unlisted(kind, selected);
  // What is being deleted, and takes its pods along, is not selected any more.
  const present = selected.filter(({ isEnding }) => !isEnding);
  if (present.length === 0) return lasting(`no ${kind} has the labels of its selector`);
  const owners = present.map((object) => ({ mapping, object }));
  if (present.length === selected.length) return { owners, ended: [] };
  const above = await kindsAbove(
    selected.filter(({ isEnding }) => isEnding),
    discovery,
  );
  return "kind" in above ? above : { owners, ended: [mapping, ...above] };
}

/** The workload of that name. */
async function namedOwner(
  namespace: string,
  target: FloorTarget & { readonly name: string },
  options: ExpectedReplicasOptions,
): Promise<ScalableOwner | ScaleTrouble> {
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
): Promise<KindMapping | ScaleTrouble> {
  const mapped = await mappingOf(apiVersion, kind, discovery);
  if (mapped.kind === "notNow") return { kind: "notNow", text: mapped.error.message };
  if (mapped.kind === "unserved") return lasting(`${kind} of ${apiVersion} is not served`);
  const { mapping } = mapped;
  if (!mapping.isNamespaced) return lasting(`a ${kind} is in no namespace`);
  return mapping.hasScale ? mapping : lasting(`${kind} has no subresource scale`);
}

/** The kinds of the controllers of what is being deleted. */
async function kindsAbove(
  ending: readonly OwnerObject[],
  discovery: ExpectedReplicasOptions["discovery"],
): Promise<readonly KindMapping[] | ScaleTrouble> {
  const controllers = ending.flatMap(({ controller }) => controller ?? []);
  const kinds = new Map(controllers.map((one) => [`${one.kind} of ${one.apiVersion}`, one]));
  const above: KindMapping[] = [];
  for (const [what, { apiVersion, kind }] of kinds) {
    const mapped = await mappingOf(apiVersion, kind, discovery);
    if (mapped.kind === "notNow") return { kind: "notNow", text: mapped.error.message };
    if (mapped.kind === "unserved") return lasting(`${what} is not served, and objects that it controls are deleted`);
    above.push(mapped.mapping);
  }
  return above;
}

function unlisted(kind: string, { isForbidden, text }: UnlistedKind): ScaleTrouble {
  const said = `${kind}: ${text}`;
  return isForbidden ? { kind: "lasting", problem: "forbidden", text: said } : { kind: "notNow", text: said };
}

function lasting(text: string): ScaleTrouble {
  return { kind: "lasting", problem: "wrong", text };
}

/**
 * A workload that somebody names: how many replicas it has, and which pods are its own. Those of a built-in kind are
 * what its spec.selector selects; of others what their scale says.
 */
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
