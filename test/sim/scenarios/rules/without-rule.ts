/**
 * Loads modules of this repository a second time, with rules of the product switched off: every file that is mutated,
 * or imports such a one, is loaded under a URL of its own, so that many copies fit into one process,
 * and nothing changes on disk. Other files are shared by all copies. The checkers of a copy use the product's pure
 * functions as they are, or they would make the same mistake.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { type Mutation, mutate } from "../../mutations/mutation.ts";

const repository = new URL("../../../../", import.meta.url).href;
const product = `${repository}src/`;
const checkers = new URL("../../checkers/", import.meta.url).href;
/** In the URLs of a copy: which one. */
const copyMark = "?without=";

function isOwn(url: string): boolean {
  return url.startsWith(repository) && !url.includes("/node_modules/") && url.endsWith(".ts");
}

/** A checker asks the product as it is. */
function isOfOriginal(parent: string, url: string): boolean {
  return parent.startsWith(checkers) && url.startsWith(product);
}

interface Copy {
  readonly mutations: readonly Mutation[];
  /** URLs of the files that are mutated, or import such a one. */
  readonly files: ReadonlySet<string>;
}

/** The copies that are loaded in this process. */
export class Copies {
  readonly #copies: Copy[] = [];
  readonly #applied = new Set<Mutation>();
  /** By URL. */
  readonly #imports = new Map<string, readonly string[]>();

  constructor() {
    registerHooks({
      resolve: (specifier, context, nextResolve) => {
        const resolved = nextResolve(specifier, context);
        const [parent = "", mark] = (context.parentURL ?? "").split(copyMark, 2);
        if (mark === undefined || isOfOriginal(parent, resolved.url)) return resolved;
        if (this.#copies[Number(mark)]?.files.has(resolved.url) !== true) return resolved;
        return { ...resolved, url: `${resolved.url}${copyMark}${mark}`, shortCircuit: true };
      },
      load: (url, context, nextLoad) => {
        const [file = "", mark] = url.split(copyMark, 2);
        if (mark === undefined) return nextLoad(url, context);
        return { format: "module-typescript", source: this.#sourceOf(file, Number(mark)), shortCircuit: true };
      },
    });
  }

  /**
   * Loads the module, and all that it imports, with the mutations in place. Rejects when one of them does not fit the
   * code.
   */
  async load<T>(module: URL, mutations: readonly Mutation[]): Promise<T> {
    const files = this.#filesOf(module.href, mutations);
    const before = this.#copies.findIndex((copy) => isDeepStrictEqual(copy, { mutations, files }));
    const number = before === -1 ? this.#copies.push({ mutations, files }) - 1 : before;
    const loaded = (await import(`${module.href}${copyMark}${number}`)) as T;
    const missed = mutations.find((mutation) => !this.#applied.has(mutation));
    if (missed !== undefined) throw new Error(`mutation ${missed.name}: src/${missed.file} is not loaded`);
    return loaded;
  }

  #filesOf(entry: string, mutations: readonly Mutation[]): Set<string> {
    const importers = new Map<string, string[]>();
    const seen = new Set([entry]);
    for (const file of seen) {
      for (const imported of this.#importsOf(file)) {
        seen.add(imported);
        if (!isOfOriginal(file, imported)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
      }
    }
    const files = new Set(mutations.map(({ file }) => `${product}${file}`));
    for (const file of files) for (const importer of importers.get(file) ?? []) files.add(importer);
    return files;
  }

  #importsOf(file: string): readonly string[] {
    let imports = this.#imports.get(file);
    if (imports === undefined) {
      const specifiers = textOf(file).matchAll(/(?:from|import) "(\.[^"]+)"/g);
      imports = specifiers
        .map(([, specifier = ""]) => new URL(specifier, file).href)
        .filter(isOwn)
        .toArray();
      this.#imports.set(file, imports);
    }
    return imports;
  }

  #sourceOf(file: string, number: number): string {
    const here = (this.#copies[number]?.mutations ?? []).filter((mutation) => file === `${product}${mutation.file}`);
    for (const mutation of here) this.#applied.add(mutation);
    return here.reduce((source, mutation) => mutate(mutation, source), textOf(file));
  }
}

function textOf(file: string): string {
  return readFileSync(fileURLToPath(file), "utf8");
}
