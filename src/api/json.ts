/** JSON from outside (lists, watches, reviews) before it is validated. */
import { type Unchecked } from "./models.ts";

export type Json = Readonly<Record<string, unknown>>;

/** The value when it is an object; undefined for null, lists and anything else. A model names the fields. */
export function asObject<Model = Json>(value: unknown): Unchecked<Model> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Unchecked<Model>) : undefined;
}

/** The value when it is an object; anything else is an empty one. */
export function fieldsOf<Model = Json>(value: unknown): Unchecked<Model> {
  return asObject<Model>(value) ?? ({} as Unchecked<Model>);
}

/** The value when it is a list; anything else is an empty one. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
