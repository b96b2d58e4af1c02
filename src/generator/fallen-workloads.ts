/** Which of the workloads that a floor follows have fallen far, and who lowered them. Pure. */
import { type FieldWriter, laterWriter } from "../api/field-writers.ts";
import { type Member } from "../scale/expected-replicas.ts";
import { isDeepFall } from "./mass-changes/floor-before.ts";

/** Replicas by kind and name: a workload that was made again is the same one. */
export type Shares = ReadonlyMap<string, number>;

export interface Fallen {
  /** Those that count as a change each. */
  readonly members: readonly Member[];
  /** Who wrote their replicas last; undefined = unknown. */
  readonly writer: FieldWriter | undefined;
}

export function sharesOf(members: readonly Member[]): Shares {
  return new Map(members.map((member) => [idOf(member), member.replicas]));
}

/**
 * `settled`: as they were when the floor last followed them all; undefined = not known, and then each that is at 0 may
 * have fallen.
 */
export function fallenOf(members: readonly Member[], settled: Shares | undefined): Fallen {
  const lower = members.filter((member) => {
    const before = settled?.get(idOf(member));
    return before === undefined ? settled === undefined : member.replicas < before;
  });
  const far = lower.filter((member) => {
    const before = settled?.get(idOf(member));
    return before === undefined ? member.replicas === 0 : isDeepFall(before, member.replicas);
  });
  const counted = far.filter((member) => !isByAutoscaler(member));
  // An API server forgets who set replicas to 0 by the subresource scale: then nobody else is to be blamed.
  const blamed = counted.length > 0 ? counted : lower;
  let writer: FieldWriter | undefined;
  for (const { owner } of blamed) writer = laterWriter(writer, owner.object.replicasWriter);
  return { members: counted, writer };
}

/** "Deployment web 8", for people. */
export function textOf({ owner, replicas }: Member): string {
  return `${owner.mapping.kind} ${owner.object.name} ${replicas}`;
}

/** Or by hand: both mean this one workload. */
function isByAutoscaler({ owner, replicas }: Member): boolean {
  return owner.object.replicasWriter?.subresource === "scale" && replicas > 0;
}

export function idOf({ owner }: Member): string {
  const { resource } = owner.mapping;
  return `${resource.resource}.${resource.group}/${owner.object.key}`;
}
