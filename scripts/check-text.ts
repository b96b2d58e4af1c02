// Reading sources for the checkers: which files the repository holds, and what in a file is code rather than comment or
// string. A small lexer, not a parser: TypeScript 7 has no parser that a script may call. It knows comments, strings,
// templates and regular expressions, which is all that the checkers need in order not to be fooled by text that only
// looks like code.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** Made by tools or by npm, never written by hand: as in .gitignore. */
const foldersNotOurs = new Set([".git", ".cache", "dist", "node_modules", "test-results"]);
const textFile =
  /(?:^|\/)(?:[^./]+|\.[^./]+|[^/]+\.(?:ts|mts|mjs|js|json|md|yaml|yml|html|svg|sh|txt|go|mod|service|env|example|conf|toml))$/;

export interface RepositoryFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Reads every hand-written text file below `root`, in the order of their paths. Symbolic links are not followed. */
export function readRepository(root: string): RepositoryFile[] {
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

/** The line of `text`, from 1, in which the character at `offset` stands. */
export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

const mayPrecedeRegExp =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|throw|delete|else|yield|await))$/;
const plainCode = /[^"'`/{}]+/y;
const comment = /\/\/.*|\/\*[\s\S]*?\*\//y;
const quoted = /"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y;
const regExp = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const templateChunk = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*/y;

/**
 * Blanks comments and the insides of strings, templates and regular expressions; quotes, line breaks and all offsets
 * stay as they are, so that a match in the result can be looked up in `text`. Code inside `${}` is kept.
 */
export function blankNonCode(text: string): string {
  let out = "";
  /** How many braces are open in each `${}` that surrounds the position; empty outside of templates. */
  const templateDepths: number[] = [];
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = out.length;
    return pattern.exec(text)?.[0];
  };
  const blank = (part: string): string => part.replaceAll(/[^\n]/g, " ");
  const blankInside = (part: string): string => part.charAt(0) + blank(part.slice(1, -1)) + part.slice(-1);
  const template = (): void => {
    out += blank(take(templateChunk) ?? "");
    if (text.startsWith("${", out.length)) {
      out += "${";
      templateDepths.push(0);
    } else out += text.charAt(out.length);
  };
  while (out.length < text.length) {
    const code = take(plainCode);
    if (code !== undefined) {
      out += code;
      continue;
    }
    const next = text.charAt(out.length);
    const commented = next === "/" ? take(comment) : undefined;
    const literal =
      next === "/" ? (mayPrecedeRegExp.test(out.slice(-200).trimEnd()) ? take(regExp) : undefined) : take(quoted);
    if (commented !== undefined) out += blank(commented);
    else if (literal !== undefined) out += blankInside(literal);
    else {
      out += next;
      const depth = templateDepths.at(-1);
      if (next === "`") template();
      else if (next === "{" && depth !== undefined) templateDepths[templateDepths.length - 1] = depth + 1;
      else if (next === "}" && depth === 0) {
        templateDepths.pop();
        template();
      } else if (next === "}" && depth !== undefined) templateDepths[templateDepths.length - 1] = depth - 1;
    }
  }
  return out;
}

export interface ImportSite {
  readonly specifier: string;
  readonly line: number;
  /** True for `import(…)`, which loads when it is reached. */
  readonly isDynamic: boolean;
}

const importForm = /\b(?:from\s*|import\s*(\(\s*)?|require\s*(\(\s*))(["'`])([^"'`]*)\3/g;

/**
 * Finds every module that a TypeScript file names: import, export … from, `import()`, `import type` and `require()`.
 */
export function findImports(text: string): ImportSite[] {
  return Array.from(blankNonCode(text).matchAll(importForm), (match) => {
    const start = match.index + match[0].length - 1 - (match[4] ?? "").length;
    return {
      specifier: text.slice(start, match.index + match[0].length - 1),
      line: lineAt(text, match.index),
      isDynamic: match[1] !== undefined || match[2] !== undefined,
    };
  });
}
