/**
 * A write, or a read of a secret, that somebody with the token of one of Podseidon's accounts could try, and who should
 * refuse it.
 */

/** Who refuses: nobody, RBAC, or an admission policy. */
export type Verdict = "allowed" | "rbac" | "policy";

/** Accounts of podseidon-system, without "podseidon-". */
export type Writer = "aggregator-worker-1" | "aggregator" | "webhook" | "generator";

/** As of a JSON patch. */
export type Operation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string };

/** What is done to the object, or the collection, at a path. */
type Deed =
  /** The object as it is, changed and written back whole. */
  | { readonly put: readonly Operation[] }
  | { readonly patch: readonly Operation[] }
  | { readonly create: unknown }
  | { readonly remove: { readonly dryRun: boolean } }
  | { readonly read: true };

export type AccountWrite = {
  /** A sentence for people; the account is the subject. */
  readonly what: string;
  readonly by: Writer;
  readonly verdict: Verdict;
  readonly path: string;
} & Deed;

/** What one account does: who should refuse it, the sentence, the path, the deed. */
export function writesOf(
  by: Writer,
  rows: readonly (readonly [Verdict, string, string, Deed])[],
): readonly AccountWrite[] {
  return rows.map(([verdict, what, path, deed]) => ({ by, verdict, what, path, ...deed }));
}

export const add = (path: string, value: unknown): Operation => ({ op: "add", path, value });
export const replace = (path: string, value: unknown): Operation => ({ op: "replace", path, value });
export const remove = (path: string): Operation => ({ op: "remove", path });
/** A key in a path. */
export const key = (text: string): string => text.replaceAll("~", "~0").replaceAll("/", "~1");
/** An annotation in a path. */
export const note = (name: string): string => `/metadata/annotations/${key(name)}`;

export const put = (...operations: readonly Operation[]): Deed => ({ put: operations });
export const patch = (...operations: readonly Operation[]): Deed => ({ patch: operations });
