/**
 * How many pods there should be, by the owners of those that there are: the replicas of all outermost scalable owners,
 * each counted once (KEP-981). Never by counting pods, which sink in the disaster. Where one owner is not known, the
 * sum is not known either: who asks keeps what was in force.
 */
import { type FieldWriter, laterWriter } from "../api/field-writers.ts";
import { type KindMapping } from "./discovery.ts";
import {
  type ChainAnswer,
  type ChainOptions,
  isBuiltIn,
  outermostScalable,
  type ScalableOwner,
} from "./owner-chain.ts";
import { controllerOf } from "./owner-objects.ts";
import { type ScaleAnswer, type ScaleTrouble } from "./read-scale.ts";
import { type ScaleMemory } from "./scale-memory.ts";

/** All at once would wait for each other in the client's rate until their deadlines pass. */
const readsAtATime = 8;

/** What a part of the replicas is from. */
export interface Member {
  readonly owner: ScalableOwner;
  readonly replicas: number;
}

/** A pod, or anything else that may have a controller. */
export interface Owned {
  readonly ownerReferences: unknown;
}

export type ExpectedReplicas =
  /** Pods without a controller count for nothing. `writer`: who wrote the replicas of one of the owners last. */
  | {
      readonly kind: "known";
      readonly replicas: number;
      readonly writer: FieldWriter | undefined;
      readonly members: readonly Member[];
      /** The kinds of owners that were deleted, and count for nothing; one may be there more than once. */
      readonly ended: readonly KindMapping[];
    }
  /** None of the pods has a controller. */
  | { readonly kind: "unmanaged" }
  /** Unknown; "notScalable": a pod has owners, and none of them can be scaled. */
  | ScaleTrouble;

export interface ExpectedReplicasOptions extends ChainOptions {
  readonly memory: ScaleMemory;
}

/** One look at all pods of a budget in one namespace. Rejects only when `signal` aborts. */
export async function expectedReplicas(
  namespace: string,
  pods: Iterable<Owned>,
  options: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<ExpectedReplicas> {
  /** By UID: any number of pods of one owner are one question. */
  const chains = new Map<string, Promise<ChainAnswer>>();
  for (const { ownerReferences } of pods) {
    const controller = controllerOf(ownerReferences);
    if (controller === undefined || chains.has(controller.uid)) continue;
    chains.set(controller.uid, outermostScalable(controller, namespace, options));
  }
  if (chains.size === 0) return { kind: "unmanaged" };
  const owners = new Map<string, ScalableOwner>();
  const ended: KindMapping[] = [];
  let unscalable: ScaleTrouble | undefined;
  for (const answer of await Promise.all(chains.values())) {
    if (answer.kind === "ended") ended.push(answer.mapping);
    else if (answer.kind === "found") owners.set(answer.owner.object.uid, answer.owner);
    else if (answer.kind === "none") unscalable ??= { kind: "lasting", problem: "notScalable", text: answer.text };
    else return troubleOf(answer);
  }
  return unscalable ?? (await replicasOfOwners([...owners.values()], ended, options, signal));
}

function troubleOf({ kind, text }: Extract<ChainAnswer, { readonly text: string }>): ScaleTrouble {
  if (kind === "forbidden") return { kind: "lasting", problem: "forbidden", text };
  return kind === "broken" ? { kind: "lasting", problem: "wrong", text } : { kind: "notNow", text };
}

/** The sum, each of these counted once. `ended`: as in the answer. Rejects only when `signal` aborts. */
export async function replicasOfOwners(
  owners: readonly ScalableOwner[],
  ended: readonly KindMapping[],
  options: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<ExpectedReplicas> {
  const answers: { readonly owner: ScalableOwner; readonly answer: ScaleAnswer }[] = [];
  const rest = owners.values();
  const readRest = async (): Promise<void> => {
    for (const owner of rest) answers.push({ owner, answer: await replicasOf(owner, options, signal) });
  };
  await Promise.all(Array.from({ length: readsAtATime }, readRest));
  const members: Member[] = [];
  let replicas = 0;
  let writer: FieldWriter | undefined;
  for (const { owner, answer } of answers) {
    if (answer.kind === "missing") return { kind: "notNow", text: "an owner has just gone" };
    if (answer.kind !== "scale") return answer;
    members.push({ owner, replicas: answer.scale.replicas });
    replicas += answer.scale.replicas;
    writer = laterWriter(writer, owner.object.replicasWriter);
  }
  return { kind: "known", replicas, writer, members, ended };
}

async function replicasOf(
  { mapping, object }: ScalableOwner,
  { memory }: ExpectedReplicasOptions,
  signal: AbortSignal,
): Promise<ScaleAnswer> {
  // The API server sets the default of one before it stores such an object.
  if (isBuiltIn(mapping))
    return { kind: "scale", scale: { replicas: Math.max(0, object.replicas ?? 1), selector: "" } };
  const { namespace, name, uid, fingerprint } = object;
  return await memory.read({ mapping, namespace, name, uid }, fingerprint, signal);
}
