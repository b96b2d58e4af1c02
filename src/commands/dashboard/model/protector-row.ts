/**
 * One PodProtector as a row of the page: the figures that a deletion would be judged by, and what to say of them.
 *
 * The states of a PodProtector as the page shows them: a word, a tone that has a shape of its own, and why.
 */
import { type CellFigures } from "../../../accounting/reserve/quota-figures.ts";
import { fieldsOf } from "../../../api/json.ts";
import { objectKey } from "../../../api/object-key.ts";
import { parseResourceVersion } from "../../../api/resource-version.ts";
import { holdingCondition } from "../../../api/v1alpha1/conditions.ts";
import { sourceLabels } from "../../../api/v1alpha1/names.ts";
import { type Condition, type PodProtector } from "../../../api/v1alpha1/pod-protector.ts";
import { type Stored } from "../../../kube/informer.ts";
import { readProtector, type ReadProtector } from "../../../kube/resources.ts";
import { printable } from "../../../util/printable.ts";
import { type FleetCells } from "../../fleet/cells.ts";
import { conditionOf, isWrong, type Standing, standingOf, type State, states } from "../../fleet/standing.ts";

/** A PodProtector as it is watched: one that cannot be read is shown as well, because deletions of its pods fail. */
export interface WatchedProtector extends Stored {
  readonly read: ReadProtector;
}

/** Undefined = the object has not even a name. */
export function decodeWatched(raw: unknown): WatchedProtector | undefined {
  const read = readProtector(raw);
  if (read.ok) {
    const { key, uid, resourceVersion } = read.stored;
    return { key, uid, resourceVersion, read };
  }
  const { namespace, name, uid, resourceVersion } = fieldsOf(fieldsOf(raw)["metadata"]);
  const version = parseResourceVersion(resourceVersion);
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  return version === undefined ? undefined : { key: objectKey(namespace, name), uid, resourceVersion: version, read };
}

/** What one cell contributes. */
export interface CellShare {
  readonly cell: string;
  readonly available: number;
  readonly promised: number;
  /** Why its pods do not count; "" = they do. */
  readonly note: string;
}

export interface Figures {
  readonly mustStay: number;
  readonly available: number;
  readonly promised: number;
  /** Undefined = by counts that are not to be believed. */
  readonly free: number | undefined;
  readonly cells: readonly CellShare[];
}

export interface ProtectorFacts {
  /** What it was generated for, "Deployment checkout"; "" = made by hand. */
  readonly workload: string;
  /** Undefined = the object cannot be used. */
  readonly figures: Figures | undefined;
  /** Never empty, the most urgent first. */
  readonly states: readonly [RowState, ...RowState[]];
}

/** Pure. `cells`: undefined = not known, so all counts are taken to be in force. */
export function factsOf({ read }: WatchedProtector, cells: FleetCells | undefined): ProtectorFacts {
  if (!read.ok) return unusable("", read.reason);
  const workload = workloadOf(read.stored.protector);
  const answer = standingOf(read.stored, cells);
  if (!answer.ok) return unusable(workload, answer.reason);
  const { mustStay, available, promised, free, figures, states, protector } = answer.standing;
  const [first, ...others] = states;
  const stateOf = (name: State): RowState => rowState(name, protector.status?.conditions, whyOf(name, answer.standing));
  return {
    workload,
    figures: { mustStay, available, promised, free, cells: figures.cells.map(shareOf) },
    states: [stateOf(first), ...others.map(stateOf)],
  };
}

function unusable(workload: string, reason: string): ProtectorFacts {
  const why = `It is invalid, so deletions of its pods are refused: ${printable(reason)}`;
  return { workload, figures: undefined, states: [rowState("unusable", undefined, why)] };
}

/** What the figures tell better than the words of a condition. */
function whyOf(name: State, { mustStay, available, promised, figures }: Standing): string | undefined {
  const silent = figures.cells.filter(({ silentForMs }) => silentForMs !== undefined);
  switch (name) {
    case "below floor":
      return `${mustStay} must stay, ${available} are available and ${promised} of them promised`;
    case "at floor":
      return `${available} are available, ${promised} of them promised, and ${mustStay} must stay: none is free`;
    case "cell silent":
      return `Nothing is heard from ${namesOf(silent)}, so the pods there do not count`;
    case "not counted":
      return `Not counted since it was made or edited: ${namesOf(figures.cells.filter(isOpen)) || "any cell"}`;
    default:
      return undefined;
  }
}

const isOpen = ({ counts, silentForMs }: CellFigures): boolean => counts !== "in-force" && silentForMs === undefined;

function namesOf(cells: readonly CellFigures[]): string {
  return cells.map(({ cellID }) => printable(cellID)).join(", ");
}

function shareOf(cell: CellFigures): CellShare {
  const { cellID, silentForMs, aggregated, last, unconfirmed } = cell;
  const note = silentForMs !== undefined ? `silent, had ${last}` : isOpen(cell) ? "not counted" : "";
  return { cell: printable(cellID), available: aggregated, promised: unconfirmed, note };
}

function workloadOf({ metadata }: PodProtector): string {
  const { [sourceLabels.kind]: kind, [sourceLabels.name]: name } = metadata.labels ?? {};
  return kind === undefined || name === undefined ? "" : printable(`${kind} ${name}`);
}

/** How it is drawn. */
export type Tone = "bad" | "warn" | "note" | "good";

export interface RowState {
  /** The words of `podseidon status`. */
  readonly name: State;
  readonly tone: Tone;
  /** For people; "" where the word says all. */
  readonly why: string;
}

/** Pods cannot be protected, or too few are left: look at these first. */
const bad: ReadonlySet<State> = new Set<State>([
  "unusable",
  "not guarded",
  "implausible",
  "below floor",
  "cell silent",
]);
/** Somebody will be told no, or is not listened to. */
const warnings: ReadonlySet<State> = new Set<State>(["at floor", "undrainable", "override ignored", "spec ignored"]);

const explained: { readonly [S in State]?: string } = {
  "cell silent": "Nothing is heard from a cell, so its pods do not count",
  "not counted": "A cell has not counted its pods since the PodProtector was made or edited",
  shadow: "It refuses nothing, and reports what it would refuse",
  released: "It is being removed and refuses nothing",
};

/** `why`: what the caller knows better than the conditions do. */
export function rowState(name: State, conditions: readonly Condition[] | undefined, why?: string): RowState {
  const type = conditionOf[name];
  const condition = type === undefined ? undefined : holdingCondition(conditions, type);
  return { name, tone: toneOf(name), why: why ?? (condition?.message || explained[name] || "") };
}

/** 0 = what people want to see first. */
export function urgencyOf(name: State): number {
  return states.indexOf(name);
}

export function toneOf(name: State): Tone {
  if (bad.has(name)) return "bad";
  if (isWrong(name) || warnings.has(name)) return "warn";
  return name === "ok" ? "good" : "note";
}
