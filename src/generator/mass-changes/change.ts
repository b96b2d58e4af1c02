/**
 * Which changes of a source count towards a mass change, and what their cause is (docs/mass-changes.md#what-counts).
 * Pure.
 */
import { type SourceRecord } from "../../sources/source.ts";
import { type FieldWriter, laterWriter } from "../../api/field-writers.ts";
import { isSameProtection } from "../../sources/overrides.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type FloorRule } from "../../sources/floor.ts";
import { type SwitchedOff } from "../namespace-modes.ts";
import { floorBeforeOf, isDeepFall } from "./floor-before.ts";
import { formerFloorOf } from "./former-floor.ts";

/** What is to be done to a PodProtector: to give it a lower floor, or to release it. */
export interface Subject {
  readonly protector: PodProtector;
  readonly source: SourceRecord;
  /** Undefined = release. */
  readonly to: number | undefined;
  /** The source when this process last saw both agree. */
  readonly settled: SourceRecord | undefined;
  /** The floor of `protector` is that of before a restore of the core, which has lowered it (restored-floors.ts). */
  readonly isRestored: boolean;
  /** Of a release: its namespace was switched off, which is the cause if nothing else is. */
  readonly switchedOff?: SwitchedOff | undefined;
  /**
   * Of a floor that several workloads make up: those that have fallen far, each by the ID that it counts under. Then
   * the change counts however little the floor falls.
   */
  readonly fallen?: readonly string[];
}

/** Whoever wrote the fields of a backup did it long ago: the restore is what changed them. */
const restoredCause: Cause = { text: "restored", isHalfTooMany: true };

export interface Cause {
  /** `owner/<kind>.<group>`, `manager/<name>[/<subresource>]`, `namespace/<name>`: what people approve. */
  readonly text: string;
  /** Cascades and scaling: more than half of the PodProtectors are too many, however few that are. */
  readonly isHalfTooMany: boolean;
}

export interface Change {
  readonly from: number;
  readonly to: number | undefined;
  readonly cause: Cause;
  /** When the source says that it happened. It may be wrong: a restored core brings the times of last week. */
  readonly evidence: EpochMicros | undefined;
}

export type Judged =
  | { readonly kind: "counts"; readonly change: Change }
  /** `from`: the highest floor within the window, by the present rule. */
  | { readonly kind: "small"; readonly from: number }
  /** An autoscaler's, or an allowed manager's. */
  | { readonly kind: "exempt" }
  /** The source has not changed: a flag, the rounding or the release of the generator has. */
  | { readonly kind: "own" };

export interface CountingRule extends FloorRule {
  /** Managers whose changes of fields never count. */
  readonly allowedManagers: readonly string[];
}

export function judge(subject: Subject, rule: CountingRule, now: EpochMicros): Judged {
  const { protector, source, to, settled, fallen = [] } = subject;
  const former = subject.isRestored
    ? protector.spec.minAvailable
    : formerFloorOf(protector, source.spec, settled?.spec, rule);
  const from = Math.max(former, floorBeforeOf(protector, now)?.highest ?? 0);
  if (fallen.length === 0 && !isDeepFall(from, to ?? 0))
    return isDeepFall(protector.spec.minAvailable, to ?? 0) ? { kind: "own" } : small(from);
  if (to === undefined) {
    if (source.isTerminating) return counts(from, to, deletionCause(source), source.deletedAt);
    // No flag opts out by an annotation.
    if (source.overrides.isOptedOut) return edited(editBy(source.writers.overrides, true, rule));
    if (subject.switchedOff !== undefined) return edited(editBy(subject.switchedOff.by, true, rule));
    // Labels that were changed while nobody looked cannot be told from a changed flag.
    if (settled === undefined || isSameLabels(settled, source)) return { kind: "own" };
    return edited(editBy(source.writers.labels, false, rule));
  }
  if (subject.isRestored) return counts(from, to, restoredCause, undefined);
  return edited(lowering(source, settled, rule, fallen.length > 0));

  function edited(edit: Edit | undefined): Judged {
    return edit === undefined ? { kind: "exempt" } : counts(from, to, edit.cause, edit.time);
  }
}

/** The cause of a floor that was lowered already, as the present source tells it; undefined when it never counted. */
export function causeOfLowered(source: SourceRecord, rule: CountingRule): Cause | undefined {
  return lowering(source, undefined, rule)?.cause;
}

interface Edit {
  readonly cause: Cause;
  readonly time: EpochMicros | undefined;
}

/**
 * What has lowered the floor; undefined = an autoscaler, or a manager that is allowed to. `isNoAutoscaler`: of several
 * workloads some fell as autoscalers do not let them.
 */
function lowering(
  source: SourceRecord,
  settled: SourceRecord | undefined,
  rule: CountingRule,
  isNoAutoscaler = false,
): Edit | undefined {
  const isScaling = changesReplicas(source, settled);
  if (changesOverride(source, settled)) {
    const edit = editBy(source.writers.overrides, true, rule);
    // Where both have changed, neither excuses the other: an autoscaler scales all day.
    if (edit !== undefined || !isScaling) return edit;
  }
  if (isScaling && !isNoAutoscaler && isByAutoscaler(source)) return undefined;
  return editBy(isScaling ? source.writers.replicas : source.writers.strategy, isScaling, rule);
}

/**
 * Whether an override of the floor is what has changed, or may be: one that is there, to a process that does not know
 * how the source was before.
 */
function changesOverride({ spec, overrides }: SourceRecord, settled: SourceRecord | undefined): boolean {
  if (settled !== undefined) return !isSameProtection(settled.overrides, overrides);
  return overrides.floor !== undefined && spec.replicas > 0;
}

/** Undefined = by a manager that is allowed to. */
function editBy(by: FieldWriter | undefined, isHalfTooMany: boolean, rule: CountingRule): Edit | undefined {
  if (by !== undefined && rule.allowedManagers.includes(by.manager)) return undefined;
  return { cause: { text: managerText(by), isHalfTooMany }, time: by?.time };
}

const small = (from: number): Judged => ({ kind: "small", from });

function counts(from: number, to: number | undefined, cause: Cause, evidence: EpochMicros | undefined): Judged {
  return { kind: "counts", change: { from, to, cause, evidence } };
}

function deletionCause({ owner, namespace }: SourceRecord): Cause {
  if (owner === undefined) return { text: `namespace/${namespace}`, isHalfTooMany: false };
  return { text: `owner/${ownerText(owner)}`, isHalfTooMany: true };
}

/** As `kubectl get` takes it. */
function ownerText({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  const [group = "", version] = apiVersion.split("/");
  return version === undefined ? kind : `${kind}.${group}`;
}

function managerText(writer: FieldWriter | undefined): string {
  if (writer === undefined) return "manager/unknown";
  return `manager/${writer.manager}${writer.subresource === undefined ? "" : `/${writer.subresource}`}`;
}

/** Whether the number of replicas is what has changed: else it is the strategy, or an override. */
function changesReplicas({ spec, writers }: SourceRecord, settled: SourceRecord | undefined): boolean {
  if (settled !== undefined) return settled.spec.replicas !== spec.replicas;
  if (spec.replicas === 0) return true;
  return writers.strategy === undefined || laterWriter(writers.strategy, writers.replicas) === writers.replicas;
}

/** Or by hand: both mean this one workload. An API server has always set the replicas. */
function isByAutoscaler({ spec, writers }: SourceRecord): boolean {
  return writers.replicas?.subresource === "scale" && spec.replicas !== 0;
}

function isSameLabels({ labels: a }: SourceRecord, { labels: b }: SourceRecord): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
