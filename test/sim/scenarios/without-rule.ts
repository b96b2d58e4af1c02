/**
 * Loads modules of this repository a second time, with rules of the product switched off: every file of such a copy is loaded under a URL of its
 * own, so that many copies live beside each other in one process, and nothing changes on disk. The checkers of a copy use the product's pure
 * functions as they are, or they would make the same mistake.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { type Mutation, mutate } from "../mutations/mutation.ts";

const repository = new URL("../../../", import.meta.url).href;
const checkers = new URL("../checkers/", import.meta.url).href;
/** In the URLs of a copy: which one, and whether it is a part that the checkers use. */
const copyMark = "?without=";
const originalMark = "&original";

function isOwn(url: string): boolean {
  return url.startsWith(repository) && !url.includes("/node_modules/") && url.endsWith(".ts");
}

/** The copies that are loaded in this process. */
export class Copies {
  readonly #mutations: (readonly Mutation[])[] = [];
  readonly #applied = new Set<Mutation>();

  constructor() {
    registerHooks({
      resolve: (specifier, context, nextResolve) => {
        const resolved = nextResolve(specifier, context);
        const mark = this.#markBelow(context.parentURL ?? "", resolved.url);
        return mark === "" ? resolved : { ...resolved, url: `${resolved.url}${mark}`, shortCircuit: true };
      },
      load: (url, context, nextLoad) => {
        const [file = "", mark] = url.split(copyMark, 2);
        if (mark === undefined) return nextLoad(url, context);
        return { format: "module-typescript", source: this.#sourceOf(file, mark), shortCircuit: true };
      },
    });
  }

  /** Loads the module, and all that it imports, with the mutations in place. Rejects when one of them does not fit the code. */
  async load<T>(module: URL, mutations: readonly Mutation[]): Promise<T> {
    let copy = this.#mutations.findIndex((others) => isDeepStrictEqual(others, mutations));
    if (copy === -1) copy = this.#mutations.push(mutations) - 1;
    const loaded = (await import(`${module.href}${copyMark}${copy}`)) as T;
    const missed = mutations.find((mutation) => !this.#applied.has(mutation));
    if (missed !== undefined) throw new Error(`mutation ${missed.name}: src/${missed.file} is not loaded`);
    return loaded;
  }

  #markBelow(parent: string, url: string): string {
    const [parentFile = "", mark] = parent.split(copyMark, 2);
    if (mark === undefined || !isOwn(url)) return "";
    const isForChecker = parentFile.startsWith(checkers) && url.startsWith(`${repository}src/`);
    return `${copyMark}${mark}${isForChecker && !mark.endsWith(originalMark) ? originalMark : ""}`;
  }

  #sourceOf(file: string, mark: string): string {
    const text = readFileSync(fileURLToPath(file), "utf8");
    const mutations = mark.endsWith(originalMark) ? [] : (this.#mutations[Number(mark)] ?? []);
    const here = mutations.filter((mutation) => file === `${repository}src/${mutation.file}`);
    for (const mutation of here) this.#applied.add(mutation);
    return here.reduce((source, mutation) => mutate(mutation, source), text);
  }
}
