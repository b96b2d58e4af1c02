/**
 * The condition Ready of a PodProtector: whether it guards its pods by the counts of all cells, and in one word how it
 * fares, which is the column STATE of kubectl (docs/conditions.md#ready). It follows from the other conditions, so
 * everybody who writes one of them writes Ready in the same write, and all agree.
 */
import { type EpochMicros } from "../../util/clock.ts";
import { formatWholeSeconds } from "../micro-time.ts";
import { type ConditionType } from "./conditions.ts";
import { type Condition, type PodProtectorStatus } from "./pod-protector.ts";

/**
 * The status of Ready while a condition is true. The first one that is true is the state: what keeps it from guarding,
 * then what is wrong now, then what somebody should change, then what is good to know.
 */
const states: Readonly<Record<Exclude<ConditionType, "FloorResolved">, "True" | "False">> = {
  Unusable: "False",
  CountsPending: "False",
  CellSilent: "False",
  Unmatched: "False",
  BelowFloor: "True",
  Dangling: "True",
  ChangeHeld: "True",
  FloorStale: "True",
  Pruned: "True",
  SpecIgnored: "True",
  OverrideIgnored: "True",
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
  const holding = new Set(conditions.filter(({ status }) => status === "True").map(({ type }) => type));
  const [reason, status] = Object.entries(states).find(([type]) => holding.has(type)) ?? ["Ready", "True"];
  const isCounted = cells.some(({ aggregation }) => aggregation !== undefined);
  if (status === "True" && !isCounted)
    return { status: "False", reason: "CountsPending", message: "No cell has counted its pods yet" };
  const message = reason === "Ready" ? "Counted in all cells" : `See the condition ${reason}`;
  return { status, reason, message };
}
