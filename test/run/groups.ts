/**
 * Which test files share a process, and in which order the processes run. `*.test.ts` find mistakes quickly: those of a
 * top folder share one, which spares each the start of a process and the loading of the same modules. Any other kind
 * (`*.proof.ts`, `*.helm.ts`) takes long, and has a process of its own.
 */
import { globSync } from "node:fs";
import path from "node:path";

export const rings: Readonly<Record<string, string>> = { test: "test/**/*.test.ts", proofs: "test/**/*.proof.ts" };

/** These have top folders of their own. */
const divided = new Set(["sim", "unit"]);

export interface Group {
  readonly name: string;
  readonly files: readonly string[];
}

function groupOf(file: string): string {
  const [, top = "", next = ""] = file.split("/");
  if (!file.endsWith(".test.ts")) return file;
  return divided.has(top) && !next.endsWith(".ts") ? `test/${top}/${next}` : `test/${top}`;
}

/** Most of these are over at once. */
const quickSeconds = 3;

/**
 * `seconds`: what groups took before, by name. Unit tests find the most mistakes, and come first. Among them, and among
 * the others, the longest begins; beside it the quick ones show their mistakes, and the others follow by length.
 */
export function groupsOf(globs: readonly string[], seconds: Readonly<Record<string, number>>): Group[] {
  const files = [...new Set(globs.flatMap((glob) => globSync(path.normalize(glob))))].sort();
  const groups = Object.entries(Object.groupBy(files, groupOf)).map(([name, of = []]) => ({ name, files: of }));
  const isUnit = ({ name }: Group): boolean => name.startsWith("test/unit");
  const took = ({ name }: Group): number => seconds[name] ?? 0;
  const byLength = groups.toSorted((a, b) => took(b) - took(a));
  return [byLength.filter(isUnit), byLength.filter((group) => !isUnit(group))].flatMap(([longest, ...others]) => [
    ...(longest === undefined ? [] : [longest]),
    ...others.filter((group) => took(group) < quickSeconds),
    ...others.filter((group) => took(group) >= quickSeconds),
  ]);
}
