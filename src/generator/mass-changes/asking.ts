/** How the controller asks about a source: whether its PodProtector may be released or get a lower floor. */
import { annotations, isInShadow } from "../../api/v1alpha1/names.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type WantedProtector } from "../sources/source-plan.ts";
import { type Goal } from "./change.ts";
import { type HeldChanges } from "./held-changes.ts";
import { type Verdict } from "./judged-change.ts";

export interface Asked {
  /** The PodProtector as it is, or as it was when it vanished. */
  readonly stored: StoredProtector | undefined;
  readonly source: SourceRecord;
  /** Undefined = release. */
  readonly wanted: WantedProtector | undefined;
}

/** Whether the source asks for what may be held. */
function isAsking(stored: StoredProtector | undefined, wanted: WantedProtector | undefined): stored is StoredProtector {
  if (stored === undefined) return false;
  return wanted === undefined || goalOf(stored, wanted) !== stored.protector.spec.minAvailable;
}

/** The present floor where it asks for nothing that may be held. */
function goalOf({ protector }: StoredProtector, wanted: WantedProtector | undefined): Goal {
  if (wanted === undefined) return undefined;
  const { minAvailable } = protector.spec;
  const isSwitched = wanted.annotations[annotations.mode] !== undefined && !isInShadow(protector.metadata);
  return isSwitched && minAvailable > 0 ? "shadow" : Math.min(minAvailable, wanted.spec.minAvailable);
}

/** What is to be kept in force of the PodProtector `key`, and whether the source asks for that. Throws KubeError. */
export async function askedNow(
  changes: HeldChanges,
  key: ObjectKey,
  asked: Asked,
  signal: AbortSignal,
): Promise<Verdict & { readonly kept: WantedProtector | undefined }> {
  const { source, wanted } = asked;
  const stored = asked.stored && changes.beforeRestore(asked.stored);
  if (!isAsking(stored, wanted)) return { kind: "pass", cause: "", floorBefore: undefined, kept: wanted };
  const { protector } = stored;
  const verdict = await changes.judge(key, { protector, source, to: goalOf(stored, wanted) }, signal);
  return { ...verdict, kept: verdict.kind === "held" ? inForceAs(stored, wanted) : wanted };
}

/**
 * What the source asks for, as far as the caches know and what was judged before allows: "held" = a release that is
 * held.
 */
export function askedBefore(
  changes: HeldChanges,
  key: ObjectKey,
  asked: Asked,
): "held" | { readonly waitMs: number } | { readonly kept: WantedProtector | undefined } {
  const { wanted } = asked;
  const stored = asked.stored && changes.beforeRestore(asked.stored);
  if (!isAsking(stored, wanted)) return { kept: wanted };
  const resting = changes.resting(key, goalOf(stored, wanted));
  // After a restore of the core nothing differs. That the former floor is wanted makes somebody judge it.
  if (resting === undefined) return { kept: stored === asked.stored ? wanted : inForceAs(stored, wanted) };
  if (resting !== "held") return resting;
  // What else differs is repaired while a lower floor is held.
  return wanted === undefined ? "held" : { kept: inForceAs(stored, wanted) };
}

/** With a floor that is no lower, and not in shadow if it was not. */
function inForceAs({ protector }: StoredProtector, wanted: WantedProtector | undefined): WantedProtector | undefined {
  if (wanted === undefined) return undefined;
  const minAvailable = Math.max(protector.spec.minAvailable, wanted.spec.minAvailable);
  const { [annotations.mode]: mode, ...others } = wanted.annotations;
  const isKept = mode === undefined || isInShadow(protector.metadata);
  return { ...wanted, annotations: isKept ? wanted.annotations : others, spec: { ...wanted.spec, minAvailable } };
}
