// No reference into the void: each path of the repository that a comment, a text or a document names exists, each
// section of a document that is cited is one of its headings, and nothing outside the repository is cited.
import { existsSync, globSync } from "node:fs";
import path from "node:path";
import type { Span } from "oxc-parser";
import { type Repository, type RepositoryFile, type SourceFile } from "./repository.ts";
import { lineAt, textOf, walk } from "./syntax.ts";

/** A part of a file in which references are looked for. */
interface Passage {
  readonly text: string;
  /** Where it begins in the file. */
  readonly start: number;
  readonly kind: "prose" | "string" | "string of a test";
}

/** A path from the root, and its section if one follows. It may hold a pattern (`*`, `{a,b}`) or a `<placeholder>`. */
const rootPath = /(?<![\w/.@$}-])(?:docs|src|test|scripts|manifests)\/[\w./*{},<>@-]*(?:#[\w-]+)?/g;
const startsAtRoot = /^(?:docs|src|test|scripts|manifests)\//;
/** The name of a source or a document, with or without some of the folders that it is in. */
const fileName = /(?<![\w/.*@$}<-])(?:[a-z][\w-]*\/)*[a-z][\w.-]*\.(?:ts|mjs|md)(?![\w/*-])/g;
const link = /\]\(([^()\s]+)\)/g;
const heading = /^#{1,6}\s+(.+?)\s*#*$/gm;
/** A space, or the break of a line and what begins the next line of a comment. */
const gap = String.raw`(?:[ ]|\n\s*(?:\/\/|\*|#)?\s*)`;
const citedOutside = new RegExp(
  String.raw`\b(?:design${gap}\d+(?:\.\d+)*|upstream${gap}sections?\b|upstream-behaviou[r]\b|scenarios?${gap}\d+)`,
  "g",
);
/** In the strings of a test, paths of sources are data; these two are still cited. */
const citedByTests = /^(?:docs\/|test\/sim\/scenarios\/)/;
/** Every string and text of these tests is data: the trees that they plant are full of paths that do not exist. */
const plantedTrees = "test/house/";

/** Comments of lines that follow each other are one block. */
function blocksOf(text: string, comments: readonly Span[]): Span[] {
  const blocks: Span[] = [];
  for (const { start, end } of comments) {
    const last = blocks.at(-1);
    if (last !== undefined && text.slice(last.end, start).trim() === "") last.end = end;
    else blocks.push({ start, end });
  }
  return blocks;
}

function passagesOfSource({ path: file, text, syntax }: SourceFile): Passage[] {
  const comments = blocksOf(text, syntax.comments).map(({ start, end }): Passage => ({
    text: text.slice(start, end),
    start,
    kind: "prose",
  }));
  if (file.startsWith(plantedTrees)) return comments;
  const kind = /\.(test|proof)\.ts$/.test(file) ? "string of a test" : "string";
  const strings: Passage[] = [];
  walk(syntax.program, (node, ancestors) => {
    const parent = ancestors.at(-1);
    if (parent !== undefined && "source" in parent && parent.source === node) return; // the module of an import
    const isText = node.type === "TemplateElement" || textOf(node) !== undefined;
    if (isText && node.type !== "TemplateLiteral")
      strings.push({ text: text.slice(node.start, node.end), start: node.start, kind });
  });
  return [...comments, ...strings];
}

/** The name that GitHub gives to a heading, for links: small letters, hyphens for spaces, no other punctuation. */
function slugOf(title: string): string {
  const plain = title.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]|<[^>]*>/g, "");
  return plain
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

const withoutCodeBlocks = (text: string): string => text.replaceAll(/^(```|~~~)[\s\S]*?^\1/gm, "");

/** The sections of a document; the second of two headings of one name ends in -1. */
function sectionsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const sections = Array.from(withoutCodeBlocks(text).matchAll(heading), (match) => {
    const slug = slugOf(match[1] ?? "");
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
  return new Set(sections);
}

class References {
  readonly #repository: Repository;
  readonly #sections = new Map<string, Set<string>>();
  readonly #names: ReadonlySet<string>;

  constructor(repository: Repository) {
    this.#repository = repository;
    // Every end of every path: "controller.ts", "aggregator/controller.ts" …
    const endsOf = (name: string): string[] => {
      const parts = name.split("/");
      return parts.map((_, index) => parts.slice(index).join("/"));
    };
    this.#names = new Set(repository.files.flatMap((file) => endsOf(file.path)));
  }

  /** What is wrong with a path from the root and its section; undefined when both exist. */
  judgePath(reference: string): string | undefined {
    const [name = "", section] = reference.replace(/[.,]+$/, "").split("#");
    if (!this.#exists(name)) return `${name} does not exist`;
    if (section === undefined || !name.endsWith(".md")) return undefined;
    return this.#hasSection(name, section) ? undefined : `${name} has no section #${section}`;
  }

  /** What is wrong with a link of the document at `file`. */
  judgeLink(file: string, target: string): string | undefined {
    if (/^[a-z]+:/.test(target)) return undefined;
    const [name = "", section] = target.split("#");
    const full = name === "" ? file : path.posix.join(path.posix.dirname(file), name);
    return this.judgePath(section === undefined ? full : `${full}#${section}`);
  }

  /** What is wrong with the name of a file without its folders. */
  judgeName(name: string): string | undefined {
    return startsAtRoot.test(name) || this.#names.has(name) ? undefined : `no file is called ${name}`;
  }

  #hasSection(name: string, section: string): boolean {
    const known = this.#sections.get(name) ?? sectionsOf(this.#repository.read(name) ?? "");
    this.#sections.set(name, known);
    return known.has(section);
  }

  #exists(name: string): boolean {
    const { root } = this.#repository;
    const beforePlaceholder = name.split("<")[0] ?? "";
    if (/[*{]/.test(beforePlaceholder)) return globSync(beforePlaceholder, { cwd: root }).length > 0;
    return existsSync(path.join(root, beforePlaceholder));
  }
}

function checkPassage(file: RepositoryFile, { text, start, kind }: Passage, references: References): string[] {
  const problems: string[] = [];
  const look = (where: string, pattern: RegExp, judge: (match: RegExpExecArray) => string | undefined): void => {
    for (const match of where.matchAll(pattern)) {
      const problem = judge(match);
      if (problem !== undefined) problems.push(`${file.path}:${lineAt(file.text, start + match.index)}: ${problem}`);
    }
  };
  look(text, rootPath, ([reference]) =>
    kind === "string of a test" && !citedByTests.test(reference) ? undefined : references.judgePath(reference),
  );
  if (kind === "prose") look(text, fileName, ([name]) => references.judgeName(name));
  if (file.path.endsWith(".md")) look(text, link, ([, target = ""]) => references.judgeLink(file.path, target));
  look(text, citedOutside, ([words]) => `"${words.replaceAll(/[^\w.-]+/g, " ")}" is not in the repository`);
  return Array.from(new Set(problems)); // a link that shows its path is found twice
}

/** Checks all files but the licence and JSON; returns one line for each reference to what does not exist. */
export function checkReferences(repository: Repository): string[] {
  const references = new References(repository);
  const sources = new Map(repository.sources.map((source) => [source.path, source]));
  return repository.files.flatMap((file) => {
    if (file.path === "LICENSE" || file.path.endsWith(".json")) return [];
    const source = sources.get(file.path);
    if (source === undefined && file.path.startsWith(plantedTrees)) return [];
    const whole: Passage = { text: file.text, start: 0, kind: "prose" };
    const passages = source === undefined ? [whole] : passagesOfSource(source);
    return passages.flatMap((passage) => checkPassage(file, passage, references));
  });
}
