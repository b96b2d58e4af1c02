/**
 * Value types that hold several strings: comma-separated lists and `key=value` maps. In a YAML file they may also be
 * YAML lists and maps.
 */
import { accept, isList, reject, type FlagInput, type JsonSchema, type Parsed, type ValueType } from "./value-type.ts";
import { nearest } from "./nearest.ts";

/** More items than any fleet has cells; bounds the work on hostile input. */
const itemsMax = 10_000;

/** What YAML may take a string for. */
const item = { type: ["string", "number", "boolean", "null"] };

/** Of a list, or of its items separated by commas. */
function listSchema(ofItem: JsonSchema): JsonSchema {
  return { anyOf: [{ type: "array", items: { ...item, ...ofItem } }, item] };
}

type ProblemOf = (text: string) => string | undefined;
const anything: ProblemOf = () => undefined;

/** A comma-separated list without empty or repeated items. `allowed` ends a message about an invalid one. */
export function list(
  placeholder: string,
  problemOf: ProblemOf = anything,
  allowed = "a comma-separated list of distinct items such as a,b",
): ValueType<readonly string[]> {
  return {
    kind: "list",
    shape: "list",
    placeholder,
    allowed,
    schema: listSchema({}),
    parse: (input) => parseList(input, problemOf),
    format: (value) => value,
  };
}

/** A comma-separated list of at least one of a few words. */
export function choices<const W extends string>(placeholder: string, words: readonly W[]): ValueType<readonly W[]> {
  return choicesOr(placeholder, words, "", (_item): _item is never => false);
}

/** A comma-separated list of at least one of a few words, or of what `isOther` accepts; `other` says that in words. */
export function choicesOr<const W extends string, O extends string>(
  placeholder: string,
  words: readonly W[],
  other: string,
  isOther: (item: string) => item is O,
): ValueType<readonly (W | O)[]> {
  const isWord = (item: string): boolean => words.some((word) => word === item) || isOther(item);
  const problemOf: ProblemOf = (item) => (isWord(item) ? undefined : "is invalid");
  return {
    kind: "list",
    shape: "list",
    placeholder,
    allowed: `one or more of ${words.join(", ")}${other}`,
    schema: listSchema(other === "" ? { enum: words } : {}),
    parse(input) {
      const parsed = parseList(input, problemOf);
      if (parsed.ok) return parsed as Parsed<readonly (W | O)[]>;
      const invalid = itemsOf(input).find((item) => problemOf(item) !== undefined);
      return invalid === undefined ? parsed : reject(parsed.problem, nearest(invalid, words));
    },
    format: (value) => value,
  };
}

/** A map of strings: `key=value,key=value`. */
export function map(
  placeholder: string,
  rule: { readonly keyProblem: ProblemOf; readonly valueProblem: ProblemOf },
): ValueType<Readonly<Record<string, string>>> {
  return {
    kind: "map",
    shape: "map",
    placeholder,
    allowed: "a comma-separated list of key=value pairs with distinct keys such as a=b,c=d",
    schema: { anyOf: [{ type: "object", additionalProperties: item }, { type: "array", items: item }, item] },
    parse(input) {
      const pairs = pairsOf(input);
      if (pairs.length > itemsMax) return reject(`has more than ${itemsMax} pairs`);
      const result = new Map<string, string>();
      for (const [key, value] of pairs) {
        if (key === "" || value === undefined) return reject("is not a list of key=value pairs");
        if (result.has(key)) return reject(`contains the key ${JSON.stringify(key)} twice`);
        const keyProblem = rule.keyProblem(key);
        if (keyProblem !== undefined) return reject(`contains the key ${JSON.stringify(key)}, which ${keyProblem}`);
        const valueProblem = rule.valueProblem(value);
        if (valueProblem !== undefined)
          return reject(`contains the value ${JSON.stringify(value)}, which ${valueProblem}`);
        result.set(key, value);
      }
      return accept(Object.freeze(Object.fromEntries(result)));
    },
    format: (value) => value,
  };
}

function itemsOf(input: FlagInput): readonly string[] {
  if (typeof input === "string") return input.trim() === "" ? [] : input.split(",").map((item) => item.trim());
  return isList(input) ? input : [];
}

function parseList(input: FlagInput, problemOf: ProblemOf): Parsed<readonly string[]> {
  if (typeof input !== "string" && !isList(input)) return reject("is a map");
  const items = itemsOf(input);
  if (items.length > itemsMax) return reject(`has more than ${itemsMax} items`);
  if (items.includes("")) return reject("contains an empty item");
  const seen = new Set<string>();
  const repeated = items.find((item) => seen.size === seen.add(item).size);
  if (repeated !== undefined) return reject(`contains ${JSON.stringify(repeated)} twice`);
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== undefined)
      return reject(items.length === 1 ? problem : `contains the item ${JSON.stringify(item)}, which ${problem}`);
  }
  return accept(Object.freeze([...items]));
}

function pairsOf(input: FlagInput): readonly (readonly [string, string | undefined])[] {
  if (typeof input !== "string" && !isList(input)) return Object.entries(input);
  return itemsOf(input).map((item) => {
    const equals = item.indexOf("=");
    return equals === -1 ? [item, undefined] : [item.slice(0, equals), item.slice(equals + 1)];
  });
}
