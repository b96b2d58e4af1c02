/** The changes that former leaders let pass: by the list of releases, and by the annotations floor-before. Pure. */
import { isInShadow } from "../../api/v1alpha1/names.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { digestOfUID } from "../../accounting/history/uid-digest.ts";
import { type Release } from "../../kube/generator-state.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { isFollowing } from "../../sources/followed-protector.ts";
import { isGeneratedFor } from "../sources/source-plan.ts";
import { type NamespaceModes } from "../sources/namespace-modes.ts";
import { type Cause, causeOfLowered, causeOfSwitch, type CountingRule } from "./change.ts";
import { type CountedChange } from "./change-window.ts";
import { floorBeforeOf, isDeepFall } from "./floors/floor-before.ts";

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

export interface Known {
  readonly sources: { get(key: ObjectKey): SourceRecord | undefined };
  readonly modes: Pick<NamespaceModes, "switched">;
  readonly rule: CountingRule;
}

/** Undefined when its floor was not lowered far, and it was not put in shadow, or by what never counts. */
export function loweredBefore(stored: StoredProtector, known: Known, now: EpochMicros): CountedChange | undefined {
  const { protector, uid } = stored;
  const before = floorBeforeOf(protector, now);
  if (before === undefined) return undefined;
  const { minAvailable } = protector.spec;
  const isShadow = isInShadow(protector.metadata);
  const cause = isDeepFall(before.highest, minAvailable)
    ? loweredBy(stored, known)
    : isShadow
      ? shadowedBy(stored, known)
      : undefined;
  if (cause === undefined) return undefined;
  const endsProtection = minAvailable === 0 || isShadow;
  return { id: digestOfUID(uid), cause: cause.text, at: before.at, endsProtection, isApplied: true };
}

function loweredBy({ key, protector }: StoredProtector, { sources, rule }: Known): Pick<Cause, "text"> | undefined {
  const source = sources.get(key);
  if (source !== undefined && isGeneratedFor(protector, source)) return causeOfLowered(source, rule);
  return isFollowing(protector) ? unknownCause : undefined;
}

/** A hand-made one is in shadow by its own annotation. */
function shadowedBy({ key, protector }: StoredProtector, { sources, modes, rule }: Known): Cause | undefined {
  const source = sources.get(key);
  if (source === undefined || !isGeneratedFor(protector, source)) return undefined;
  const switched = modes.switched(source.namespace, "shadow");
  return switched && causeOfSwitch(switched, rule);
}
