/**
 * Which of the workloads that make up a floor have fallen far, and who lowered them: each counts by itself, however
 * little their sum falls (docs/mass-changes.md#what-counts).
 */
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type FieldWriter, laterWriter, scalerOf } from "../../api/field-writers.ts";
import { type Informer } from "../../kube/informer.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type Member } from "../../scale/expected-replicas.ts";
import { type SourceKind, type SourceRecord, type Workloads } from "../../sources/source.ts";
import { isDeepFall } from "./floor-before.ts";
import { type SourceCaches } from "../sources/source-caches.ts";
import { protectorKeyOf } from "../sources/source-plan.ts";

export interface Fallen {
  /** Those that count as a change each; one that is not there any more has no replicas. */
  readonly members: readonly Member[];
  /** Who wrote their replicas last; undefined = unknown. */
  readonly writer: FieldWriter | undefined;
}

/**
 * `settled`: as they were when the floor last followed them all; undefined = not known, and then each that is at 0 may
 * have fallen.
 */
export function fallenOf(present: Workloads, settled: Workloads | undefined): Fallen {
  const before = settled?.asked === present.asked ? sharesOf(settled.members) : undefined;
  const isLower = (member: Member): boolean => member.replicas < (before?.get(idOf(member)) ?? 0);
  const isFar = (member: Member): boolean => isDeepFall(before?.get(idOf(member)) ?? 0, member.replicas);
  const { members } = present;
  const far = before === undefined ? members.filter(({ replicas }) => replicas === 0) : members.filter(isFar);
  const counted = far.filter((member) => !isByAutoscaler(member));
  const absent = before === undefined ? [] : absentOf(present, settled);
  // An API server forgets who set replicas to 0 by the subresource scale, and who deleted an object: then nobody else
  // is to be blamed.
  const blamed =
    counted.length + absent.length > 0 ? counted : before === undefined ? members : members.filter(isLower);
  const former = new Map(settled?.members.map((member) => [idOf(member), member.owner.object.replicasWriter]));
  const writers = blamed.map((member) =>
    scalerOf(member.owner.object.replicasWriter, member.replicas, former.get(idOf(member))),
  );
  let writer: FieldWriter | undefined;
  // Nobody is presumed to have scaled what others may have.
  for (const one of writers)
    if (one?.isPresumed !== true || !writers.includes(undefined)) writer = laterWriter(writer, one);
  return { members: [...counted, ...absent], writer };
}

/** Those that were deleted, or are not meant any more: their labels were changed. */
function absentOf(present: Workloads, settled: Workloads | undefined): readonly Member[] {
  const shares = sharesOf(present.members);
  const absent = settled?.members.filter((member) => member.replicas > 0 && !shares.has(idOf(member))) ?? [];
  return absent.map(({ owner }) => ({ owner, replicas: 0 }));
}

export interface FallenWorkloadsOptions {
  readonly sources: Pick<SourceCaches, "kinds">;
  readonly protectors: Pick<Informer<StoredProtector>, "get">;
}

/** What is to be judged of a source that has no replicas of its own, and whose floor falls. */
export class FallenWorkloads {
  readonly #options: FallenWorkloadsOptions;

  constructor(options: FallenWorkloadsOptions) {
    this.#options = options;
  }

  /** `fallen`: the IDs that they count under. Sources with replicas of their own are returned as they are. */
  of(
    source: SourceRecord,
    settled: SourceRecord | undefined,
  ): { readonly source: SourceRecord; readonly fallen: readonly string[] } {
    if (source.workloads === undefined) return { source, fallen: [] };
    const { members, writer } = fallenOf(source.workloads, settled?.workloads);
    const writers = { ...source.writers, replicas: writer };
    return { source: { ...source, writers }, fallen: members.map((member) => this.#countedAs(member)) };
  }

  /** What is generated for the workload counts for it. */
  #countedAs({ owner: { mapping, object } }: Member): string {
    const { sources, protectors } = this.#options;
    const { group, resource } = mapping.resource;
    const isOfKind = ({ kind }: { readonly kind: SourceKind }): boolean =>
      kind.resource.group === group && kind.resource.resource === resource;
    const kind = sources.kinds().find(isOfKind)?.kind;
    const generated = kind && protectors.get(protectorKeyOf({ ...object, kind }));
    return digestOfUID(generated?.uid ?? object.uid);
  }
}

/** Replicas by kind and name: a workload that was made again is the same one. */
function sharesOf(members: readonly Member[]): ReadonlyMap<string, number> {
  return new Map(members.map((member) => [idOf(member), member.replicas]));
}

/** Whether these are the same workloads, with the same replicas. */
export function isSameShares(a: Workloads | undefined, b: Workloads | undefined): boolean {
  if (a?.asked !== b?.asked || a?.members.length !== b?.members.length) return false;
  const shares = sharesOf(a?.members ?? []);
  return b?.members.every((member) => shares.get(idOf(member)) === member.replicas) ?? true;
}

/** Or by hand: both mean this one workload. */
function isByAutoscaler({ owner, replicas }: Member): boolean {
  return owner.object.replicasWriter?.subresource === "scale" && replicas > 0;
}

export function idOf({ owner }: Member): string {
  const { resource } = owner.mapping;
  return `${resource.resource}.${resource.group}/${owner.object.key}`;
}
