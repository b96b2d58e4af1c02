/** The nearest match to a mistyped word. */
import { closest, distance } from "fastest-levenshtein";

/**
 * Words longer than this are not compared: the cost grows with the square of the length, and no name is half as long.
 */
const comparedLengthMax = 200;

/**
 * The candidate with the fewest edits. Undefined when more than two thirds of the word would have to change: such a
 * suggestion would only confuse.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  if (word === "" || word.length > comparedLengthMax || candidates.length === 0) return undefined;
  const best = closest(word, candidates);
  return distance(word, best) <= (Math.max(word.length, best.length) * 2) / 3 ? best : undefined;
}
