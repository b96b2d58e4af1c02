/** An invalid configuration, as a value: one line for the user that names what is wrong and what is allowed. */
import { maskPasswords } from "./address.ts";
import { nearest } from "./nearest.ts";
import { quote, type FlagInput, type Rejected, type ValueType } from "./value-type.ts";

export class Problem {
  /** One line without control characters and without passwords. */
  readonly message: string;

  constructor(message: string) {
    this.message = maskPasswords(message);
  }
}

/** `flag --webhook-port: "http" is not a whole number …; allowed: …`. `place` says where the value was given. */
export function invalidValue(place: string, input: FlagInput, type: ValueType<unknown>, rejected: Rejected): Problem {
  const hint = rejected.suggestion === undefined ? "" : `; did you mean ${rejected.suggestion}?`;
  return new Problem(`${place}: ${quote(input)} ${rejected.problem}; allowed: ${type.allowed}${hint}`);
}

/** `unknown flag --webhok-port; did you mean --webhook-port?`. `spelled` writes a candidate as the user would. */
export function unknownName(
  what: string,
  name: string,
  candidates: readonly string[],
  spelled: (candidate: string) => string,
): Problem {
  const shown = /^[\w.-]{1,100}$/.test(name) ? name : quote(name);
  const best = nearest(name, candidates.map(spelled));
  return new Problem(
    `unknown ${what} ${shown}${best === undefined ? "" : `; did you mean ${best}?`} (--help lists all)`,
  );
}
