// The repository as the gates see it: every hand-written text file, and the syntax of those that are TypeScript, each
// read and parsed once however many gates ask.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse, type Syntax } from "./syntax.ts";

/** Made by tools or by npm, never written by hand: as in .gitignore. */
const foldersNotOurs = new Set([".git", ".cache", "dist", "node_modules", "test-results"]);
const extensions = "ts|mts|mjs|js|json|md|yaml|yml|html|svg|sh|txt|go|mod|service|env|example|conf|toml";
/** Files without an extension, dot files, and those with an extension of a text. */
const textFile = new RegExp(String.raw`(?:^|/)(?:[^./]+|\.[^./]+|[^/]+\.(?:${extensions}))$`);
const program = /\.(?:ts|mjs)$/;

export interface RepositoryFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** A TypeScript or JavaScript file with its syntax. */
export interface SourceFile extends RepositoryFile {
  readonly syntax: Syntax;
}

export class Repository {
  readonly root: string;
  #files: readonly RepositoryFile[] | undefined;
  #sources: readonly SourceFile[] | undefined;

  constructor(root: string) {
    this.root = root;
  }

  /** Every hand-written text file, in the order of the paths. Symbolic links are not followed. */
  get files(): readonly RepositoryFile[] {
    this.#files ??= readFiles(this.root);
    return this.#files;
  }

  /** Every .ts and .mjs file. Throws an Error that names the file and the line when one cannot be parsed. */
  get sources(): readonly SourceFile[] {
    this.#sources ??= this.files
      .filter(({ path: name }) => program.test(name))
      .map((file) => ({ ...file, syntax: parse(file.path, file.text) }));
    return this.#sources;
  }

  /** The sources below `folder`, such as "src/". */
  sourcesIn(folder: string): readonly SourceFile[] {
    return this.sources.filter(({ path: name }) => name.startsWith(folder));
  }

  /** The text of the file at `name`, whatever it is called; undefined when there is none. */
  read(name: string): string | undefined {
    return this.files.find((file) => file.path === name)?.text;
  }
}

function readFiles(root: string): RepositoryFile[] {
  const files: RepositoryFile[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const name = path.posix.join(folder, entry.name);
      if (entry.isDirectory() && !foldersNotOurs.has(entry.name)) walk(name);
      else if (entry.isFile() && textFile.test(name))
        files.push({ path: name, text: readFileSync(path.join(root, name), "utf8") });
    }
  };
  walk("");
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
