/**
 * The word of an owner about one workload (docs/mass-changes.md#keep): below a number its floor falls only when a
 * person approves it, however few other changes there are. The number is kept on the PodProtector, so that it outlasts
 * the annotation: an overwritten manifest takes that away in the very write that takes the replicas. Pure.
 */
import { annotations } from "../../api/v1alpha1/names.ts";
import { type ObjectMeta, type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type KeepWord, readKeep } from "../../sources/overrides.ts";
import { type SourceRecord } from "../../sources/source.ts";

/** How a change is held by the word of the owner. */
export interface Kept {
  /** The number that is in force, or is to be. */
  readonly atLeast: number;
  /** A release, shadow, or a fall below the number: only a person lets it pass. False: the word is taken away. */
  readonly isFall: boolean;
}

/** So long the number holds after the word is taken away, if nobody approves: whoever did not mean it is told. */
export const takenAwayMs = 600_000;

/** The number on a PodProtector; undefined = none that can be read. */
export function keptNumberOf({ annotations: set }: Pick<ObjectMeta, "annotations">): number | undefined {
  const number = readKeep(set?.[annotations.keep] ?? "");
  return number === true ? undefined : number;
}

/**
 * The number that is asked for; undefined = none. Of several words the strictest holds. `floor`: that the source asks
 * for. `stored`: the number on the PodProtector.
 */
export function askedNumber(
  words: readonly KeepWord[],
  { writers }: Pick<SourceRecord, "writers">,
  floor: number,
  stored: number | undefined,
): number | undefined {
  const numbers = words.map((word) => {
    if (word === undefined) return 0;
    if (word === "unreadable") return stored ?? 0;
    return word === true ? halfOf(floor, stored, writers.replicas?.subresource === "scale") : word;
  });
  return Math.max(0, ...numbers) || undefined;
}

/**
 * Half of the last approved floor. One that is written to the workload itself is approved by that; one that an
 * autoscaler has raised is not, or each quiet night would be held. Lower ones are asked for, and held.
 */
function halfOf(floor: number, stored: number | undefined, isScaled: boolean): number {
  const half = Math.max(1, Math.ceil(floor / 2));
  if (stored === undefined || floor < stored) return half;
  return isScaled ? stored : Math.max(stored, half);
}

/**
 * How the word of the owner holds a change to this floor, 0 for shadow; "release". Undefined = it does not. `asked`: as
 * askedNumber. Both numbers count, so that a write that changes the word and the floor is judged with the stricter one.
 */
export function keptIn(protector: PodProtector, asked: number | undefined, to: number | "release"): Kept | undefined {
  const stored = keptNumberOf(protector.metadata) ?? 0;
  const atLeast = Math.max(stored, asked ?? 0);
  // A floor of 0 has nothing to lose.
  const isFall = (to === "release" ? 0 : to) < Math.min(atLeast, protector.spec.minAvailable);
  const isTakenAway = to !== "release" && (asked ?? 0) < stored;
  return isFall || isTakenAway ? { atLeast, isFall } : undefined;
}

export function isSameKept(a: Kept | undefined, b: Kept | undefined): boolean {
  return a?.atLeast === b?.atLeast && a?.isFall === b?.isFall;
}

const prefix = "keep/";

/** What a person approves. `key`: of the PodProtector. */
export function keptCause(key: string): string {
  return `${prefix}${key}`;
}

/** Whether that is what the cause says. */
export function isKeptCause(cause: string): boolean {
  return cause.startsWith(prefix);
}

/** In a label of a metric: workloads are too many. */
export function shortCause(cause: string): string {
  return isKeptCause(cause) ? "keep" : cause;
}
