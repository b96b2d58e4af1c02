/** An invalid configuration, as a value: one line for the user that names what is wrong and what is allowed. */
import { maskPasswords } from "../types/address.ts";
import { type FlagName } from "../flag-table.ts";
import { nearest } from "../types/nearest.ts";
import { quote, type FlagInput, type Rejected, type ValueType } from "../types/value-type.ts";

export class Problem {
  /** One line without control characters and without passwords. */
  readonly message: string;

  constructor(message: string) {
    this.message = maskPasswords(message);
  }
}

/** What a source of settings holds. */
export interface SourceInputs {
  /** Those that are right in form; their values are not checked yet. */
  readonly inputs: ReadonlyMap<FlagName, FlagInput>;
  readonly problems: readonly Problem[];
}

/** `flag --webhook-port: "http" is not a whole number …; allowed: …`. `place` says where the value was given. */
export function invalidValue(place: string, input: FlagInput, type: ValueType<unknown>, rejected: Rejected): Problem {
  const hint = rejected.suggestion === undefined ? "" : `; did you mean ${rejected.suggestion}?`;
  return new Problem(`${place}: ${quote(input)} ${rejected.problem}; allowed: ${type.allowed}${hint}`);
}

/**
 * `unknown flag --webhok-port; did you mean --webhook-port?`. `spelled` writes a candidate as the user would; `listing`
 * says where all names are.
 */
export function unknownName(
  what: string,
  name: string,
  candidates: readonly string[],
  spelled: (candidate: string) => string,
  listing = "--help lists all",
): Problem {
  const shown = /^[\w.-]{1,100}$/.test(name) ? name : quote(name);
  const spellings = candidates.map(spelled);
  // What all spellings begin with tells nothing: any two flags have their dashes in common.
  const shared = sharedPrefix(spellings);
  const ends = spellings.map((spelling) => spelling.slice(shared.length));
  const best = nearest(name.startsWith(shared) ? name.slice(shared.length) : name.replace(/^-+/, ""), ends);
  const hint = best === undefined ? "" : `; did you mean ${shared}${best}?`;
  return new Problem(`unknown ${what} ${shown}${hint} (${listing})`);
}

/** Whole words only. */
function sharedPrefix(words: readonly string[]): string {
  const [first = "", ...others] = words;
  if (others.length === 0) return "";
  let length = 0;
  while (length < first.length && others.every((other) => other[length] === first[length])) length += 1;
  return /^.*[-_]/.exec(first.slice(0, length))?.[0] ?? "";
}
