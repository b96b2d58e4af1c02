/** Which PodProtectors `status` shows, and in which order: what is wrong first. */
import { type InvalidProtector } from "../fleet/protectors.ts";
import { isWrong, type Standing, type State, states } from "../fleet/standing.ts";

/** What can be shown of one. */
export type Line =
  | { readonly kind: "standing"; readonly state: State; readonly standing: Standing }
  | { readonly kind: "unusable"; readonly state: "unusable"; readonly invalid: InvalidProtector };

/** A fleet of up to so many is shown whole: it fits on a screen. */
const shownWholeMax = 25;
/** Those that are well, or as somebody wants them, are only counted in a larger fleet. */
const quiet: ReadonlySet<State> = new Set<State>(["ok", "shadow", "unprotected"]);
/** Of those with something to say in a larger fleet; more are only counted. */
const shownMax = 50;

export interface Shown {
  readonly lines: readonly Line[];
  /** How many are in each state, the worst first; every one counts once, in its worst state. */
  readonly counts: ReadonlyMap<State, number>;
  /** Of `counts`, how many are not in `lines`. */
  readonly left: number;
}

export function chosenLines(
  standings: readonly Standing[],
  unusable: readonly InvalidProtector[],
  showsAll: boolean,
): Shown {
  const all: Line[] = [
    ...unusable.map((invalid): Line => ({ kind: "unusable", state: "unusable", invalid })),
    ...standings.map((standing): Line => ({ kind: "standing", state: standing.states[0], standing })),
  ];
  const counts = new Map<State, number>();
  for (const state of states) {
    const count = all.filter((line) => line.state === state).length;
    if (count > 0) counts.set(state, count);
  }
  const sorted = all.sort((a, b) => rank(a) - rank(b) || compare(keyOf(a), keyOf(b)));
  const lines =
    showsAll || all.length <= shownWholeMax
      ? sorted
      : sorted.filter(({ state }) => !quiet.has(state)).slice(0, shownMax);
  return { lines, counts, left: all.length - lines.length };
}

/** Whether one of them needs somebody. */
export function areWrong({ counts }: Pick<Shown, "counts">): boolean {
  return [...counts.keys()].some(isWrong);
}

function rank({ state }: Line): number {
  return states.indexOf(state);
}

export function placeOf(line: Line): { readonly namespace: string; readonly name: string } {
  return line.kind === "unusable" ? line.invalid : line.standing;
}

/** `namespace/name`. */
export function keyOf(line: Line): string {
  const { namespace, name } = placeOf(line);
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
