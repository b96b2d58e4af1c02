/**
 * What a flag's value may be. A value type reads the raw input of any source and writes it back; it knows nothing of
 * flags. Reading never throws: bad input is an expected outcome.
 */

/** What a source holds: a string, or from a YAML file also a list or a map of strings. */
export type FlagInput = string | readonly string[] | Readonly<Record<string, string>>;

/**
 * `problem` follows the quoted value in a message: `is not a whole number`. `suggestion` is the nearest allowed value.
 */
export interface Rejected {
  readonly ok: false;
  readonly problem: string;
  readonly suggestion?: string | undefined;
}

/** A JSON Schema of draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export type Parsed<T> = { readonly ok: true; readonly value: T } | Rejected;

export interface ValueType<T> {
  /** One word for the documentation: "duration". */
  readonly kind: string;
  /**
   * What a repeated flag means: of a "scalar" the last value counts; a "list" or "map" adds to the earlier ones. A
   * "switch" is a scalar that needs no value; without one it is true.
   */
  readonly shape: "scalar" | "switch" | "list" | "map";
  /** Stands after the "=" in the help: "DURATION". */
  readonly placeholder: string;
  /** What is allowed, in words that end a message: "a whole number from 0 to 65535". */
  readonly allowed: string;
  /** What a YAML file may hold, as JSON Schema; never stricter than `parse`, and as strict as an editor needs. */
  readonly schema: JsonSchema;
  parse(input: FlagInput): Parsed<T>;
  /** Writes the value so that `parse` reads the same value back. */
  format(value: T): FlagInput;
}

export const accept = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const reject = (problem: string, suggestion?: string): Parsed<never> => ({ ok: false, problem, suggestion });

/** A value type that is one string, from a parser of strings; refuses lists and maps. */
export function scalar<T>(
  type: Omit<ValueType<T>, "parse" | "shape"> & { readonly shape?: "switch"; parseText(text: string): Parsed<T> },
): ValueType<T> {
  return {
    kind: type.kind,
    shape: type.shape ?? "scalar",
    placeholder: type.placeholder,
    allowed: type.allowed,
    schema: type.schema,
    parse: (input) => (typeof input === "string" ? type.parseText(input) : reject("is not a single value")),
    format: (value) => type.format(value),
  };
}

/** Shows any input in one piece of a line: control characters escaped, at most 80 characters (a terminal line). */
export function quote(input: FlagInput): string {
  const text = JSON.stringify(inputText(beginning(input)));
  const safe = text.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return safe.length <= 80 ? safe : `${safe.slice(0, 76)}…"`;
}

/** The input as one would write it on the command line. */
export function inputText(input: FlagInput): string {
  if (typeof input === "string") return input;
  if (isList(input)) return input.join(",");
  return Object.entries(input)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

export function isList(input: FlagInput): input is readonly string[] {
  return Array.isArray(input);
}

/** Enough of the input for a message: YAML aliases can make a short file mean a huge list. */
function beginning(input: FlagInput): FlagInput {
  const cut = (text: string): string => text.slice(0, 100);
  if (typeof input === "string") return cut(input);
  if (isList(input)) return input.slice(0, 10).map(cut);
  return Object.fromEntries(
    Object.entries(input)
      .slice(0, 10)
      .map(([key, value]) => [cut(key), cut(value)]),
  );
}
