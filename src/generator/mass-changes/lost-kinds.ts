/**
 * Releases that are held however few they are: of sources whose own kind, or whose owner's kind, is being lost. A CRD
 * that is deleted takes all its objects with it, with a deletionTimestamp each, and nobody has asked for that
 * (docs/mass-changes.md#how-many-are-too-many).
 */
import { type SourceRecord } from "../../sources/source.ts";
import { type Cause } from "./change.ts";
import { type Surroundings } from "./surroundings.ts";

type Questions = Pick<Surroundings, "isLost">;

const prefix = "kind/";

/** The cause of a release while the source's own kind is being lost; undefined = it is not. As Surroundings.isLost. */
export async function causeOfLostKind(
  { kind }: SourceRecord,
  questions: Questions,
  signal: AbortSignal,
): Promise<Cause | undefined> {
  const { group } = kind.resource;
  // Only groups with a dot have CRDs: what is built in cannot be lost.
  if (!group.includes(".") || !(await questions.isLost(kind, signal))) return undefined;
  return { text: `${prefix}${kind.kind}.${group}`, isHalfTooMany: true };
}

/** Whether the kind of the source or of its owner is being lost. As Surroundings.isLost. */
export async function isOfLostKind(source: SourceRecord, questions: Questions, signal: AbortSignal): Promise<boolean> {
  if ((await causeOfLostKind(source, questions, signal)) !== undefined) return true;
  return source.owner !== undefined && (await questions.isLost(source.owner, signal));
}

/** Whether that is what the cause says. */
export function isLostKind(cause: string): boolean {
  return cause.startsWith(prefix);
}
