/**
 * What is to be done about a source and its PodProtector, by what is known of the two
 * (docs/generator.md#one-decision). Pure, and the one place that decides it. The controller asks twice: with what the
 * caches have, whether anything is left to be done, and then with what it has just read, to do that.
 */
import { isReleased } from "../api/v1alpha1/pod-protector.ts";
import { annotations, isInShadow } from "../api/v1alpha1/names.ts";
import { type StoredProtector } from "../kube/resources.ts";
import { type SourceRecord } from "../sources/source.ts";
import { assertNever } from "../util/assert.ts";
import { type ChangeRequest, floorAfter, type Goal } from "./mass-changes/change.ts";
import { pass, type Verdict } from "./mass-changes/judged-change.ts";
import { keptIn, keptNumberOf } from "./sources/kept.ts";
import { driftPatch } from "./protectors/drift.ts";
import { type HeldProtector, type NameHolder } from "./protectors/protector-lifecycle.ts";
import { isFinished, type Vanished } from "./protectors/vanished-protectors.ts";
import { isGuarded, needsNoFinalizer } from "./sources/source-choice.ts";
import { type WantedProtector } from "./sources/source-plan.ts";

/** What is known at one moment. */
export interface Known {
  /** What has the name of the source's PodProtector. */
  readonly holder: NameHolder;
  /** "gone": there is none. "unknown": whether there is one is not known. */
  readonly source: SourceRecord | "gone" | "unknown";
  /** The PodProtector that had the name, and vanished without having been released. */
  readonly lost: Vanished | undefined;
  /** What the source asks for; undefined = no PodProtector, or there is no source. */
  readonly wanted: WantedProtector | undefined;
  /** The PodProtector that the source has or has lost, with the floor that it had before a restore of the core. */
  readonly protector: StoredProtector | undefined;
  /** The number that the source asks to be kept (sources/kept.ts), also where it asks for no PodProtector. */
  readonly keeps: number | undefined;
  /** That one is in the list of releases. */
  readonly isListed: boolean;
  /** It was told that it dangles. */
  readonly isTold: boolean;
  /** Whether what the source asks for may pass; undefined = not judged yet. */
  readonly verdict: Verdict | undefined;
}

export type Action =
  /** Nothing: there is nothing, too little is known, or a release is held. */
  | { readonly kind: "leave" }
  /** Nothing yet. */
  | { readonly kind: "wait"; readonly waitMs: number }
  /** Has this judged first, and decides again. */
  | { readonly kind: "judge"; readonly request: ChangeRequest }
  /** Make again what vanished, as it was. */
  | { readonly kind: "recreate"; readonly lost: Vanished }
  /** Keep in force what has lost its source, and tell of it. */
  | { readonly kind: "dangle"; readonly stored: StoredProtector }
  /** Release what is there, let go what vanished, and then the source. `cause`: for people. */
  | {
      readonly kind: "release";
      readonly stored: StoredProtector | undefined;
      readonly lost: Vanished | undefined;
      readonly source: SourceRecord | undefined;
      readonly cause: string;
    }
  /** Somebody else's PodProtector has the name: it stays as it is, and the source is not held for nothing. */
  | { readonly kind: "yield"; readonly source: SourceRecord; readonly wanted: WantedProtector }
  | {
      readonly kind: "create";
      readonly source: SourceRecord;
      readonly wanted: WantedProtector;
      readonly lost: Vanished | undefined;
    }
  /** Repair what differs. `floorBefore`: the annotation of a floor that is lowered. */
  | {
      readonly kind: "keep";
      readonly source: SourceRecord;
      readonly held: HeldProtector;
      readonly wanted: WantedProtector;
      readonly floorBefore: string | undefined;
    };

const leave: Action = { kind: "leave" };

/** Decides again after `judge`, with the verdict. */
export function decide(known: Known): Action {
  const { holder, source, lost, wanted } = known;
  if (source === "gone" || source === "unknown") return withoutSource(known);
  const request = requestOf(known, source);
  if (request !== undefined && known.verdict === undefined) return { kind: "judge", request };
  const verdict = known.verdict ?? pass();
  if (verdict.kind === "later") return { kind: "wait", waitMs: verdict.waitMs };
  const isHeld = verdict.kind === "held";
  if (wanted === undefined) {
    if (isHeld) return lost !== undefined && holder.kind === "none" ? { kind: "recreate", lost } : leave;
    const stored = holder.kind === "ours" ? holder.stored : undefined;
    const cause = verdict.cause || `${source.isTerminating ? "deleted" : "not selected"} in ${source.namespace}`;
    return { kind: "release", stored, lost, source, cause };
  }
  if (holder.kind === "foreign") return { kind: "yield", source, wanted };
  // What else differs is repaired while a lower floor is held.
  const kept = isHeld && known.protector !== undefined ? inForceAs(known.protector, wanted) : wanted;
  if (holder.kind === "none") return { kind: "create", source, wanted: kept, lost };
  return { kind: "keep", source, held: holder, wanted: kept, floorBefore: isHeld ? undefined : verdict.floorBefore };
}

function withoutSource({ holder, source, lost }: Known): Action {
  if (lost !== undefined && holder.kind === "none") return { kind: "recreate", lost };
  if (source === "unknown" || holder.kind !== "ours") return leave;
  const { stored } = holder;
  if (isReleased(stored.protector))
    return { kind: "release", stored, lost: undefined, source: undefined, cause: "by hand" };
  return { kind: "dangle", stored };
}

/** Whether nothing is left to be done for the action that follows from what is known. */
export function isDone(action: Action, { isListed, isTold }: Known): boolean {
  switch (action.kind) {
    case "leave":
    case "wait":
      return true;
    case "judge":
    case "recreate":
      return false;
    case "dangle":
      return isTold && !isListed;
    case "release": {
      const { stored, lost, source } = action;
      if (lost !== undefined || (stored !== undefined && !isFinished(stored))) return false;
      return source === undefined || !isGuarded(source);
    }
    case "yield":
      return isAboutToGo(action.source);
    case "create":
      return action.lost === undefined && isAboutToGo(action.source);
    case "keep": {
      const { source, held, wanted } = action;
      if (isListed || !(isGuarded(source) || needsNoFinalizer(source))) return false;
      return driftPatch(held.stored.protector, wanted) === undefined;
    }
    default:
      return assertNever(action);
  }
}

/** Without a PodProtector, a terminating source that we do not hold is about to be gone. */
export function isAboutToGo(source: SourceRecord): boolean {
  return source.isTerminating && !isGuarded(source);
}

/** What the source asks for that may be held; undefined = nothing. */
function requestOf(known: Known, source: SourceRecord): ChangeRequest | undefined {
  const { protector: stored, wanted, isListed } = known;
  if (stored === undefined) return undefined;
  const { protector } = stored;
  // A release that has begun goes on. One that is to be kept after all has its floor as before.
  if (wanted === undefined && (isReleased(protector) || isListed)) return undefined;
  const to = wanted && goalOf(stored, wanted);
  const kept = keptIn(protector, known.keeps, wanted === undefined ? "release" : floorAfter(to));
  return to === protector.spec.minAvailable && kept === undefined ? undefined : { protector, source, to, kept };
}

/** The present floor where it asks for nothing that may be held. */
function goalOf({ protector }: StoredProtector, wanted: WantedProtector): Goal {
  const { minAvailable } = protector.spec;
  const isSwitched = wanted.annotations[annotations.mode] !== undefined && !isInShadow(protector.metadata);
  return isSwitched && minAvailable > 0 ? "shadow" : Math.min(minAvailable, wanted.spec.minAvailable);
}

/** With a floor that is no lower, kept as before, and not in shadow if it was not. */
function inForceAs({ protector }: StoredProtector, wanted: WantedProtector): WantedProtector {
  const minAvailable = Math.max(protector.spec.minAvailable, wanted.spec.minAvailable);
  const { [annotations.mode]: mode, ...others } = wanted.annotations;
  const isAsBefore = mode === undefined || isInShadow(protector.metadata);
  const kept = Math.max(keptNumberOf(protector.metadata) ?? 0, keptNumberOf(wanted) ?? 0);
  const more = kept > 0 ? { [annotations.keep]: String(kept) } : {};
  const spec = { ...wanted.spec, minAvailable };
  return { ...wanted, annotations: { ...(isAsBefore ? wanted.annotations : others), ...more }, spec };
}
