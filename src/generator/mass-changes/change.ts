/**
 * Which changes of a source count towards a mass change, and what their cause is (docs/mass-changes.md#what-counts).
 * Pure.
 */
import { type SourceRecord, type SourceSpec } from "../../sources/source.ts";
import { type FieldWriter, laterWriter, scalerOf } from "../../api/field-writers.ts";
import { isSameProtection } from "../../sources/overrides.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type FloorRule } from "../../sources/floor.ts";
import { type Kept } from "../sources/kept.ts";
import { type Switched } from "../sources/namespace-modes.ts";
import { floorBeforeOf, isDeepFall } from "./floor-before.ts";

/** What a source asks for: a lower floor; "shadow" = that nothing is refused any more; undefined = release. */
export type Goal = number | "shadow" | undefined;

/** What may not be taken away any more when it is done. */
export function floorAfter(to: Goal): number {
  return typeof to === "number" ? to : 0;
}

/** A greater one leaves more in force. */
export function rankOf(to: Goal): number {
  return to === undefined ? -1 : floorAfter(to);
}

/** What is to be done to a PodProtector. */
export interface Subject {
  readonly protector: PodProtector;
  readonly source: SourceRecord;
  readonly to: Goal;
  /** The source when this process last saw both agree. */
  readonly settled: SourceRecord | undefined;
  /** The floor of `protector` is that of before a restore of the core, which has lowered it (restored-floors.ts). */
  readonly isRestored: boolean;
  /** Who has switched its namespace off or to shadow, which is the cause if nothing else is; undefined = a flag. */
  readonly switched?: Switched | undefined;
  /**
   * Of a floor that several workloads make up: those that have fallen far, each by the ID that it counts under. Then
   * the change counts however little the floor falls.
   */
  readonly fallen?: readonly string[];
}

/** What the controller asks, of what it has just read. `kept`: by the word of the owner it is held in any case. */
export type ChangeRequest = Pick<Subject, "protector" | "source" | "to"> & { readonly kept?: Kept | undefined };

/** Whoever wrote the fields of a backup did it long ago: the restore is what changed them. */
const restoredCause: Cause = { text: "restored", isHalfTooMany: true };

export interface Cause {
  /** `owner/<kind>.<group>`, `manager/<name>[/<subresource>]`, `namespace/<name>`: what people approve. */
  readonly text: string;
  /** Cascades, scaling and modes: more than half of the PodProtectors are too many, however few that are. */
  readonly isHalfTooMany: boolean;
  /** Modes: of those that refuse something. In a core that is mostly in shadow the few others are soon all of them. */
  readonly isOfEnforced?: true;
}

export interface Change {
  readonly from: number;
  readonly to: Goal;
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
  if (fallen.length === 0 && !isDeepFall(from, floorAfter(to)))
    return isDeepFall(protector.spec.minAvailable, floorAfter(to)) ? { kind: "own" } : small(from);
  if (to === undefined) {
    if (source.isTerminating) return counts(from, to, deletionCause(source), source.deletedAt);
    // No flag opts out by an annotation.
    if (source.overrides.isOptedOut) return edited(editBy(source.writers.overrides, true, rule));
    if (subject.switched !== undefined) return edited(switchedBy(subject.switched, rule));
    // Labels that were changed while nobody looked cannot be told from a changed flag.
    if (settled === undefined || isSameLabels(settled, source)) return { kind: "own" };
    return edited(editBy(source.writers.labels, false, rule));
  }
  if (subject.isRestored) return counts(from, to, restoredCause, undefined);
  if (to === "shadow") {
    const edit = subject.switched && switchedBy(subject.switched, rule);
    if (edit !== undefined) return edited(edit);
    // No flag and no manager that is allowed to excuses what the source does meanwhile.
    if (!isDeepFall(from, source.spec.floorBy(rule).minAvailable))
      return { kind: subject.switched === undefined ? "own" : "exempt" };
  }
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
  const { replicas, strategy } = source.writers;
  const by = isScaling ? scalerOf(replicas, source.spec.replicas, settled?.writers.replicas) : strategy;
  return editBy(by, isScaling, rule);
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

/** As `editBy`. */
function switchedBy({ by }: Switched, rule: CountingRule): Edit | undefined {
  const edit = editBy(by, true, rule);
  return edit && { ...edit, cause: { ...edit.cause, isOfEnforced: true } };
}

/** The cause of what was put in shadow already; undefined when it never counted. */
export function causeOfSwitch(switched: Switched, rule: CountingRule): Cause | undefined {
  return switchedBy(switched, rule)?.cause;
}

const small = (from: number): Judged => ({ kind: "small", from });

function counts(from: number, to: Goal, cause: Cause, evidence: EpochMicros | undefined): Judged {
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

/** Nobody is blamed for what somebody else may have done. */
function managerText(writer: FieldWriter | undefined): string {
  if (writer === undefined || writer.isPresumed === true) return "manager/unknown";
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

/** Every rule that a generator may have had. Upstream's is one of them: percentages round up. */
const rules: readonly FloorRule[] = (["at-least-one", "up", "down"] as const).flatMap((percentRounding) =>
  (["drainable", "protected"] as const).map((singleReplica) => ({ percentRounding, singleReplica })),
);

/**
 * `settled`: the source when this process last saw the two agree; undefined = never. Without it, a floor that any rule
 * makes of the present source is taken for one that the source did not change.
 */
export function formerFloorOf(
  { spec }: PodProtector,
  present: SourceSpec,
  settled: SourceSpec | undefined,
  rule: FloorRule,
): number {
  if (settled !== undefined) return settled.floorBy(rule).minAvailable;
  const isOurs = rules.some((one) => present.floorBy(one).minAvailable === spec.minAvailable);
  return isOurs ? present.floorBy(rule).minAvailable : spec.minAvailable;
}
