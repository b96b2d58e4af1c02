/** The pages for people: README.md and all below docs. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "../..");

export interface Page {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
}

export function readPages(): readonly Page[] {
  const docs = readdirSync(path.join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => path.join("docs", name))
    .sort();
  return ["README.md", ...docs].map((file) => ({ file, text: readFileSync(path.join(root, file), "utf8") }));
}
