/** The nearest match to a mistyped word. */
import { closest, distance } from "fastest-levenshtein";

/**
 * Words longer than this are not compared: the cost grows with the square of the length, and no name is half as long.
 */
const comparedLengthMax = 200;

/**
 * The candidate with the fewest edits, whatever the case of its letters. Undefined when more than two fifths of the
 * word would have to change: `maybe` is not a misspelled `false`, nor `nope` a misspelled `role`.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word === "" || word.length > comparedLengthMax || candidates.length === 0) return undefined;
  const typed = word.toLowerCase();
  const lower = candidates.map((candidate) => candidate.toLowerCase());
  const best = closest(typed, lower);
  const editsMax = Math.max(1, Math.floor((Math.max(typed.length, best.length) * 2) / 5));
  const isNear = distance(typed, best) <= editsMax || lettersOf(typed) === lettersOf(best);
  return isNear ? candidates[lower.indexOf(best)] : undefined;
}

/** In their order: letters that only changed places are one slip, which counts as two edits. */
function lettersOf(word: string): string {
  return word.split("").toSorted().join("");
}
