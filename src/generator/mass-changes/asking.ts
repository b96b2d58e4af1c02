/** How the controller asks about a source: whether its PodProtector may be released or get a lower floor. */
import { type SourceRecord } from "../../sources/source.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type WantedProtector } from "../source-plan.ts";
import { type SwitchedOff } from "../namespace-modes.ts";
import { type HeldChanges } from "./held-changes.ts";
import { type Verdict } from "./judged-change.ts";

export interface Asked {
  /** The PodProtector as it is, or as it was when it vanished. */
  readonly stored: StoredProtector | undefined;
  readonly source: SourceRecord;
  /** Undefined = release. */
  readonly wanted: WantedProtector | undefined;
  /** As NamespaceModes.switchedOff. */
  readonly switchedOff?: SwitchedOff | undefined;
}

/** Whether the source asks for what may be held. */
function isAsking(stored: StoredProtector | undefined, wanted: WantedProtector | undefined): stored is StoredProtector {
  if (stored === undefined) return false;
  return wanted === undefined || wanted.spec.minAvailable < stored.protector.spec.minAvailable;
}

/** What is to be kept in force of the PodProtector `key`, and whether the source asks for that. Throws KubeError. */
export async function askedNow(
  changes: HeldChanges,
  key: ObjectKey,
  asked: Asked,
  signal: AbortSignal,
): Promise<Verdict & { readonly kept: WantedProtector | undefined }> {
  const { source, wanted, switchedOff } = asked;
  const stored = asked.stored && changes.beforeRestore(asked.stored);
  if (!isAsking(stored, wanted)) return { kind: "pass", cause: "", floorBefore: undefined, kept: wanted };
  const { protector } = stored;
  const verdict = await changes.judge(key, { protector, source, to: wanted?.spec.minAvailable, switchedOff }, signal);
  return { ...verdict, kept: verdict.kind === "held" ? withFloorOf(stored, wanted) : wanted };
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
  const resting = changes.resting(key, wanted?.spec.minAvailable);
  // After a restore of the core nothing differs. That the former floor is wanted makes somebody judge it.
  if (resting === undefined) return { kept: stored === asked.stored ? wanted : withFloorOf(stored, wanted) };
  if (resting !== "held") return resting;
  // What else differs is repaired while a lower floor is held.
  return wanted === undefined ? "held" : { kept: withFloorOf(stored, wanted) };
}

function withFloorOf(stored: StoredProtector, wanted: WantedProtector | undefined): WantedProtector | undefined {
  return wanted && { ...wanted, spec: { ...wanted.spec, minAvailable: stored.protector.spec.minAvailable } };
}
