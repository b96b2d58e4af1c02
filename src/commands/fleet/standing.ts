/**
 * Where a PodProtector stands: must stay, available, promised and free, by the functions that webhooks judge with, and
 * what is wrong with it.
 */
import { criterionFor } from "../../accounting/count/health-criterion.ts";
import { figuresOf, missedCells, type QuotaFigures } from "../../accounting/reserve/quota-figures.ts";
import { silentFor } from "../../accounting/silence/glance.ts";
import { type ConditionType, holdingCondition } from "../../api/v1alpha1/conditions.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type ProtectorView, viewOf } from "../../webhook/protector/protector-view.ts";
import { type FleetCells } from "./cells.ts";

/** In the order in which they are shown: what is worst comes first. */
export const states = [
  "unusable",
  "not guarded",
  "implausible",
  "below floor",
  "cell silent",
  "not counted",
  "change held",
  "dangling",
  "undrainable",
  "at floor",
  "floor stale",
  "matches nothing",
  "override ignored",
  "spec ignored",
  "foreign pods",
  "unprotected",
  "shadow",
  "released",
  "ok",
] as const;
export type State = (typeof states)[number];

/** The condition that says why, and since when. */
export const conditionOf: { readonly [S in State]?: ConditionType } = {
  "not guarded": "NotGuarded",
  implausible: "Implausible",
  "below floor": "BelowFloor",
  "cell silent": "CellSilent",
  "change held": "ChangeHeld",
  dangling: "Dangling",
  undrainable: "Undrainable",
  "at floor": "AtFloor",
  "floor stale": "FloorStale",
  "matches nothing": "Unmatched",
  "override ignored": "OverrideIgnored",
  "spec ignored": "SpecIgnored",
  "foreign pods": "ForeignPods",
  unprotected: "Unprotected",
};

/** Those that need somebody. The others are worth a look. */
const wrong: ReadonlySet<State> = new Set<State>([
  "unusable",
  "not guarded",
  "implausible",
  "below floor",
  "cell silent",
  "not counted",
  "change held",
  "dangling",
  "floor stale",
]);

export interface Standing {
  readonly namespace: string;
  readonly name: string;
  readonly protector: PodProtector;
  readonly view: ProtectorView;
  /** Its cells by their names. */
  readonly figures: QuotaFigures;
  readonly mustStay: number;
  readonly available: number;
  readonly promised: number;
  /**
   * How many pods may go now: at least 0. Without a floor, all that are available. Undefined = by counts that are not
   * to be believed.
   */
  readonly free: number | undefined;
  /** All that are true of it, the worst first; ["ok"] when there is nothing to say. */
  readonly states: readonly [State, ...State[]];
}

export type ReadStanding =
  | { readonly ok: true; readonly standing: Standing }
  /** Webhooks cannot use it: they refuse the deletions of its pods. */
  | { readonly ok: false; readonly reason: string };

/** Whether somebody has to do something. */
export function isWrong(state: State): boolean {
  return wrong.has(state);
}

/** `cells`: undefined when the Leases cannot be read; all counts are taken to be in force then. */
export function standingOf(stored: StoredProtector, cells: FleetCells | undefined): ReadStanding {
  const read = viewOf(stored, undefined);
  if (!read.ok) return read;
  const { protector } = read.view;
  const { namespace, name, uid } = protector.metadata;
  const figures = figuresOf(protector, protector.status?.cells ?? [], criterionFor(undefined, protector.spec), {
    countedSpec: read.view.spec.countedSpec,
    silentForMs: (cellID) => silentFor(cells?.cells.get(cellID)?.glance, uid),
    held: new Map(),
  });
  const { required, aggregated, unconfirmed } = figures;
  const byName = figures.cells.toSorted((a, b) => (a.cellID < b.cellID ? -1 : 1));
  return {
    ok: true,
    standing: {
      namespace,
      name,
      protector,
      view: read.view,
      figures: { ...figures, cells: byName },
      mustStay: required,
      available: aggregated,
      promised: unconfirmed,
      free: holds(protector, "Implausible") ? undefined : Math.max(0, aggregated - unconfirmed - required),
      states: statesOf(read.view, figures),
    },
  };
}

/** Whether a condition of the PodProtector holds. */
export function holds({ status }: PodProtector, type: ConditionType): boolean {
  return holdingCondition(status?.conditions, type) !== undefined;
}

/** Pods of other owners count as its replicas, until a person says that they are to be left out. */
export function countsForeignPods({ status }: PodProtector): boolean {
  return holdingCondition(status?.conditions, "ForeignPods")?.reason === "Counted";
}

function statesOf({ protector, isShadow, isReleased }: ProtectorView, figures: QuotaFigures): [State, ...State[]] {
  const { required, aggregated, unconfirmed, cells } = figures;
  const left = aggregated - unconfirmed;
  const hasFloor = required > 0;
  const isNotCounted = cells.some(({ counts, silentForMs }) => counts !== "in-force" && silentForMs === undefined);
  const found: Partial<Record<State, boolean>> = {
    "not guarded": holds(protector, "NotGuarded"),
    implausible: holds(protector, "Implausible"),
    // Where it is only not known to be there, the silence of the cell is what is wrong.
    "below floor": hasFloor && left < required && missedCells(figures, required - left).length === 0,
    "cell silent": cells.some(({ silentForMs }) => silentForMs !== undefined),
    "not counted": isNotCounted || (hasFloor && cells.length === 0),
    "change held": holds(protector, "ChangeHeld"),
    dangling: holds(protector, "Dangling"),
    "at floor": hasFloor && left === required,
    undrainable: holds(protector, "Undrainable"),
    "floor stale": holds(protector, "FloorStale"),
    "matches nothing": holds(protector, "Unmatched"),
    "override ignored": holds(protector, "OverrideIgnored"),
    "spec ignored": holds(protector, "SpecIgnored"),
    "foreign pods": countsForeignPods(protector),
    unprotected: holds(protector, "Unprotected"),
    shadow: isShadow,
    released: isReleased,
  };
  const [first, ...others] = states.filter((state) => found[state] === true);
  return first === undefined ? ["ok"] : [first, ...others];
}
