/** The states of a PodProtector as the page shows them: a word, a tone that has a shape of its own, and why. */
import { holdingCondition } from "../../../api/v1alpha1/conditions.ts";
import { type Condition } from "../../../api/v1alpha1/pod-protector.ts";
import { conditionOf, isWrong, type State, states } from "../../fleet/standing.ts";

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
const bad: ReadonlySet<State> = new Set<State>(["unusable", "below floor", "cell silent"]);
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
