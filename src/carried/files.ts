/**
 * Files that the program carries: of assets/, and of the parts of manifests/ that scripts/build.ts names. Run from the
 * sources they are read where they are; the executable holds them as assets, by the same names.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import { getAsset, isSea } from "node:sea";

const root = path.join(import.meta.dirname, "../..");

/** `name`: from the root of the repository. Throws when there is no such file: the program was not built as a whole. */
export function readCarried(name: string): string {
  return isSea() ? getAsset(name, "utf8") : readFileSync(path.join(root, name), "utf8");
}
