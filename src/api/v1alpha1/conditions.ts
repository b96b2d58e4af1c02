/**
 * The conditions of a PodProtector: the whole list of their types and reasons (docs/conditions.md has it in words, with
 * who writes which), and how a writer merges its own into those of others.
 *
 * A condition is written when it first becomes true and is False after it has ended, so that `kubectl wait` works and
 * people see when it ended. One that was never true is absent. What they say together is the condition Ready, which
 * every counted object has.
 */
import { type EpochMicros } from "../../util/clock.ts";
import { formatWholeSeconds } from "../micro-time.ts";
import { type Condition, type PodProtectorStatus } from "./pod-protector.ts";

/**
 * The reasons of each condition while it is true. Where several processes write one type (the aggregators of several
 * cells), they derive it from the object alone, or they would overwrite each other without end.
 *
 * There is no condition Unprotectable: a workload that lacks its PodProtector has no object to carry one. It gets an
 * Event of that reason, and counts in generator_unprotectable_sources (docs/conditions.md#unprotectable).
 */
interface Reasons {
  /** Aggregator: exactly as many pods as must stay would be left by the promised deletions. */
  readonly AtFloor: "NothingFree";
  /** Aggregator: fewer would be left. */
  readonly BelowFloor: "TooFewAvailable";
  /** Aggregator: a cell has no counts that answer the spec. */
  readonly CountsPending: "NotCounted";
  /** Aggregator: a field of the spec means nothing. */
  readonly SpecIgnored: "UnknownCriterion";
  /** Aggregator: pods that match belong to other owners, and count as replicas all the same, or are left out. */
  readonly ForeignPods: "Counted" | "LeftOut";
  /** Aggregator: the CRD drops fields of this release from what it writes. */
  readonly Pruned: "FieldsDropped";
  /** Generator: the object is invalid, so that it admits nothing. */
  readonly Unusable: "InvalidObject";
  /** Generator: deletions of its namespace are not sent to the webhook in a cell. */
  readonly NotGuarded: "NotSent";
  /** Generator: nothing is free without a cell that has fallen silent. */
  readonly CellSilent: "NoHeartbeat";
  /** Generator: pods must stay, and none matches in any cell. */
  readonly Unmatched: "NoPods";
  /** Generator: cells say that they have far more pods than the source asks for. */
  readonly Implausible: "TooManyPods";
  /** Generator: the source has vanished without being deleted. */
  readonly Dangling: "SourceVanished";
  /** Generator: the source asks for a lower floor or for release, and too many others do so, or its owner keeps it. */
  readonly ChangeHeld: "MassChange" | "Kept";
  /** Generator: all replicas of the source must stay. */
  readonly Undrainable: "MaxUnavailableZero" | "RoundedDownToZero" | "SingleReplica" | "MinAvailableCoversReplicas";
  /** Generator: none has to. */
  readonly Unprotected:
    | "SingleReplica"
    | "MaxUnavailableCoversReplicas"
    | "Recreate"
    | "MinAvailableZero"
    | "DeletionsNotGuarded";
  /** Generator: annotations of the source cannot be read, and what is derived holds. */
  readonly OverrideIgnored: "InvalidAnnotation";
  /** Generator: the floor of a hand-made PodProtector follows the replicas of workloads. */
  readonly FloorResolved: "ReplicasKnown";
  /** Generator: it should, and the last floor holds, since their replicas are not known. */
  readonly FloorStale: "CalculateExpectedPodCountFailed";
}

export type ConditionType = keyof Reasons;

/** Why a condition is true. The message has no ages and no times: each new text is a write. */
export interface Holding<T extends ConditionType> {
  readonly reason: Reasons[T];
  readonly message: string;
  /** Of the spec that was looked at; absent = that of the call, if any. */
  readonly observedGeneration?: number;
}

/** What a writer has found about the types that it names: why they are true, or false. Others are not touched. */
export type FoundConditions = { readonly [T in ConditionType]?: Holding<T> | false };

/** The reason of each condition after it has ended. */
const endedReasons: Readonly<Record<ConditionType, string>> = {
  AtFloor: "SomeFree",
  BelowFloor: "EnoughAvailable",
  CountsPending: "Counted",
  SpecIgnored: "SpecUnderstood",
  ForeignPods: "NonePresent",
  Pruned: "FieldsKept",
  Unusable: "Usable",
  NotGuarded: "Sent",
  CellSilent: "CellsReport",
  Unmatched: "NothingMissing",
  Implausible: "CountsPlausible",
  Dangling: "SourcePresent",
  ChangeHeld: "NothingHeld",
  Undrainable: "SomeMayGo",
  Unprotected: "SomeMustStay",
  OverrideIgnored: "AllUnderstood",
  FloorResolved: "NothingToFollow",
  FloorStale: "ReplicasKnown",
};

export const conditionTypes = Object.keys(endedReasons) as readonly ConditionType[];

/** The condition of this type while it is true; undefined = it is not, or was never. */
export function holdingCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type && condition.status === "True");
}

/** Enough for a few sentences with a few names. Conditions travel with each status write. */
const messageLengthMax = 1_024;

/**
 * `existing` with what was found. Returns `existing` itself when that changes nothing. Keeps the conditions of others,
 * unknown types included, and the time of the last transition while a status stays the same. `generation`: of the spec
 * that all of `found` follows from. Who gives it has to write it after each edit of the spec, because `kubectl wait`
 * does not believe a condition of an earlier one.
 */
export function withConditions(
  existing: readonly Condition[] | undefined,
  found: FoundConditions,
  now: EpochMicros,
  generation?: number,
): readonly Condition[] | undefined {
  const merged: Condition[] = [...(existing ?? [])];
  let hasChanged = false;
  for (const type of conditionTypes) {
    const holding = found[type];
    if (holding === undefined) continue;
    const index = merged.findIndex((condition) => condition.type === type);
    const before = merged[index];
    const observedGeneration = holding === false ? generation : (holding.observedGeneration ?? generation);
    if (before === undefined ? holding === false : isAsFound(before, holding, observedGeneration)) continue;
    const status = holding === false ? "False" : "True";
    const after = {
      ...before,
      type,
      status,
      reason: holding === false ? endedReasons[type] : holding.reason,
      message: holding === false ? "" : messageOf(holding),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : formatWholeSeconds(now),
      ...(observedGeneration !== undefined && { observedGeneration }),
    } as const;
    if (before === undefined) merged.push(after);
    else merged[index] = after;
    hasChanged = true;
  }
  return hasChanged ? merged : existing;
}

function isAsFound(
  condition: Condition,
  holding: Holding<ConditionType> | false,
  generation: number | undefined,
): boolean {
  const { status, reason, message, observedGeneration } = condition;
  if (generation !== undefined && generation !== observedGeneration) return false;
  // The reason of an end is not compared: a release that has another word for it would rewrite every object.
  if (holding === false) return status === "False";
  return status === "True" && reason === holding.reason && message === messageOf(holding);
}

function messageOf({ message }: Holding<ConditionType>): string {
  return message.length > messageLengthMax ? `${message.slice(0, messageLengthMax - 1)}…` : message;
}

/**
 * The condition Ready of a PodProtector: whether it guards its pods by the counts of all cells, and in one word how it
 * fares, which is the column STATE of kubectl (docs/conditions.md#ready). It follows from the other conditions, so
 * everybody who writes one of them writes Ready in the same write, and all agree. The status of Ready while a condition
 * is true. The first one that is true is the state: what keeps it from guarding, then what is wrong now, then what
 * somebody should change, then what is good to know.
 */
const states: Readonly<Record<Exclude<ConditionType, "FloorResolved">, "True" | "False">> = {
  Unusable: "False",
  NotGuarded: "False",
  CountsPending: "False",
  CellSilent: "False",
  Unmatched: "False",
  Implausible: "True",
  BelowFloor: "True",
  Dangling: "True",
  ChangeHeld: "True",
  FloorStale: "True",
  Pruned: "True",
  SpecIgnored: "True",
  OverrideIgnored: "True",
  ForeignPods: "True",
  Undrainable: "True",
  AtFloor: "True",
  Unprotected: "True",
};

/** Of whoever counts: what the conditions follow from. */
export interface Observed {
  /** Of the spec; undefined = unknown, or what was observed before stays. */
  readonly generation: number | undefined;
  readonly now: EpochMicros;
}

/**
 * `conditions`, those of an object with these cells, with Ready as it follows from them. Returns `conditions` itself
 * when Ready stays as it is. Keeps the time of the last transition while the status stays the same.
 */
export function withReady(
  conditions: readonly Condition[],
  cells: PodProtectorStatus["cells"],
  { generation, now }: Observed,
): readonly Condition[] {
  const before = readyOf(conditions);
  const { status, reason, message } = readiness(conditions, cells);
  const observedGeneration = generation ?? before?.observedGeneration;
  if (
    before?.status === status &&
    before.reason === reason &&
    before.message === message &&
    before.observedGeneration === observedGeneration
  )
    return conditions;
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : formatWholeSeconds(now);
  const after: Condition = {
    type: "Ready",
    status,
    reason,
    message,
    lastTransitionTime,
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
  return before === undefined ? [...conditions, after] : conditions.map((one) => (one === before ? after : one));
}

/** Undefined = nobody has written it: no cell has counted, or a Go component has dropped it. */
export function readyOf(conditions: readonly Condition[] | undefined): Condition | undefined {
  return conditions?.find(({ type }) => type === "Ready");
}

function readiness(
  conditions: readonly Condition[],
  cells: PodProtectorStatus["cells"],
): Pick<Condition, "status" | "reason" | "message"> {
  // What is left out is as it should be.
  const isTold = ({ status, reason }: Condition): boolean => status === "True" && reason !== "LeftOut";
  const holding = new Set(conditions.filter(isTold).map(({ type }) => type));
  const [reason, status] = Object.entries(states).find(([type]) => holding.has(type)) ?? ["Ready", "True"];
  const isCounted = cells.some(({ aggregation }) => aggregation !== undefined);
  if (status === "True" && !isCounted)
    return { status: "False", reason: "CountsPending", message: "No cell has counted its pods yet" };
  const message = reason === "Ready" ? "Counted in all cells" : `See the condition ${reason}`;
  return { status, reason, message };
}
