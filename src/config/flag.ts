/**
 * What a flag is, and how families of flags (`core-kube-*`, `worker-kube-*` …) are built so that the compiler knows the
 * name and the value type of each.
 */
import { type ValueType } from "./types/value-type.ts";

export const roles = ["generator", "aggregator", "webhook", "update-trigger"] as const;
/** A part of the program that `--role` can select. */
export type Role = (typeof roles)[number];

export function isRole(word: string): word is Role {
  return (roles as readonly string[]).includes(word);
}

/** What a flag declares about itself. */
export interface FlagSpec<T> {
  readonly type: ValueType<T>;
  readonly default: T;
  /** The default where another flag of the table has a value that changes it; undefined = it does not. */
  readonly defaultBy?: { readonly flag: string; readonly value: (other: unknown) => T | undefined };
  /** One or more short sentences, units included; the default is added where it is printed. */
  readonly help: string;
  /** The value may contain a password inside a URL; it is masked wherever values are shown. */
  readonly mayHoldPassword?: boolean;
  /** Few installations ever set it: --help lists it at the end. */
  readonly isRare?: boolean;
  /**
   * Why the flag, one of upstream's, has no effect here: a sentence. Its values are checked, and a warning at start
   * names it if it is set.
   */
  readonly ignored?: string;
}

/** A heading of the help and the documentation. */
export interface FlagGroup {
  readonly title: string;
  /** The roles that take these flags. */
  readonly roles: readonly Role[];
}

/** An entry of the flag table. */
export interface Flag<T = unknown> extends FlagSpec<T> {
  readonly group: FlagGroup;
}

type Specs = Readonly<Record<string, FlagSpec<unknown>>>;

/** The specs of `S` with `prefix` before each name. */
export function prefixed<const P extends string, S extends Specs>(
  prefix: P,
  specs: S,
): { readonly [K in keyof S & string as `${P}${K}`]: S[K] } {
  const entries = Object.entries(specs).map(([name, spec]) => [`${prefix}${name}`, spec]);
  return Object.fromEntries(entries) as { readonly [K in keyof S & string as `${P}${K}`]: S[K] };
}

/** Puts flags under a heading. */
export function inGroup<S extends Specs>(
  group: FlagGroup,
  specs: S,
): { readonly [K in keyof S]: S[K] & { readonly group: FlagGroup } } {
  const entries = Object.entries(specs).map(([name, spec]) => [name, { ...spec, group }]);
  return Object.fromEntries(entries) as { readonly [K in keyof S]: S[K] & { readonly group: FlagGroup } };
}

/** Marks flags that are accepted because upstream has them, and ignored. */
export function withoutEffect<S extends Specs>(
  reason: string,
  specs: S,
): { readonly [K in keyof S]: S[K] & { readonly ignored: string } } {
  const entries = Object.entries(specs).map(([name, spec]) => [name, { ...spec, ignored: reason }]);
  return Object.fromEntries(entries) as { readonly [K in keyof S]: S[K] & { readonly ignored: string } };
}

/** Describes one flag; infers its value type. */
export function flag<T>(
  type: ValueType<T>,
  defaultValue: NoInfer<T>,
  help: string,
  options: Pick<FlagSpec<T>, "defaultBy" | "isRare" | "mayHoldPassword"> = {},
): FlagSpec<T> {
  return { type, default: defaultValue, help, ...options };
}

/** The values of the flags of a table, by name. */
export type ValuesOf<S> = { readonly [K in keyof S]: S[K] extends FlagSpec<infer T> ? T : never };

/** The part of `values` whose names begin with `prefix`, without it. The inverse of `prefixed`. */
export type Unprefixed<V, P extends string> = {
  readonly [K in keyof V as K extends `${P}${infer Rest}` ? Rest : never]: V[K];
};

export function unprefixed<V extends object, const P extends string>(values: V, prefix: P): Unprefixed<V, P> {
  const entries = Object.entries(values).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value])) as Unprefixed<V, P>;
}
