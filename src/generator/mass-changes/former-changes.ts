/** The changes that former leaders let pass: by the list of releases, and by the annotations floor-before. Pure. */
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type Release } from "../../kube/generator-state.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { isFollowing } from "../../sources/followed-protector.ts";
import { isGeneratedFor } from "../source-plan.ts";
import { causeOfLowered, type CountingRule } from "./change.ts";
import { type CountedChange } from "./change-window.ts";
import { floorBeforeOf, isDeepFall } from "./floor-before.ts";

/** What a terminating namespace takes with it is one change. */
export const namespacesCause = { text: "namespaces", isHalfTooMany: false } as const;

/** Of a hand-made PodProtector: the workloads that its floor follows are not known yet. */
const unknownCause = { text: "manager/unknown" };

/** Of a release that counts, in the list of releases. */
const countedCause = /^(?:owner|manager|namespace)\//;

export function releasedBefore(releases: readonly Release[]): readonly CountedChange[] {
  return releases.flatMap(({ digest, releasedAt: at, cause }) => {
    const applied = { at, endsProtection: true, isApplied: true };
    // Others did not count. Those of one namespace are one change.
    if (cause.startsWith(`${namespacesCause.text}/`)) return [{ id: cause, cause: namespacesCause.text, ...applied }];
    return countedCause.test(cause) ? [{ id: digest, cause, ...applied }] : [];
  });
}

/** Undefined when its floor was not lowered far, or by what never counts. */
export function loweredBefore(
  { key, protector, uid }: StoredProtector,
  sources: { get(key: ObjectKey): SourceRecord | undefined },
  rule: CountingRule,
  now: EpochMicros,
): CountedChange | undefined {
  const before = floorBeforeOf(protector, now);
  const { minAvailable } = protector.spec;
  if (before === undefined || !isDeepFall(before.highest, minAvailable)) return undefined;
  const source = sources.get(key);
  const isGenerated = source !== undefined && isGeneratedFor(protector, source);
  if (!isGenerated && !isFollowing(protector)) return undefined;
  const cause = isGenerated ? causeOfLowered(source, rule) : unknownCause;
  if (cause === undefined) return undefined;
  const id = digestOfUID(uid);
  return { id, cause: cause.text, at: before.at, endsProtection: minAvailable === 0, isApplied: true };
}
