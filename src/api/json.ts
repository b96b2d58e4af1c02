/** JSON from outside (lists, watches, reviews) before it is validated. */

export type Json = Readonly<Record<string, unknown>>;

/** The value when it is an object; undefined for null, lists and anything else. */
export function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The value when it is an object; anything else is an empty one. */
export function fieldsOf(value: unknown): Json {
  return asObject(value) ?? {};
}

/** The value when it is a list; anything else is an empty one. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
