// The import direction of the house, as one table: which folder may import which, and where each library belongs. The
// lint has no rule for that; circles of files are found by circles.ts.
import path from "node:path";
import { type Repository, type SourceFile } from "./repository.ts";
import { type ImportSite } from "./syntax.ts";

interface Layer {
  readonly folders: readonly string[];
  /** May folders of this layer use each other (in one direction)? Never for the roles. */
  readonly mayUsePeers: boolean;
}

/** From the bottom to the top. A folder imports itself and the layers below it: docs/contributing.md#layers. */
const layers: readonly Layer[] = [
  { folders: ["util"], mayUsePeers: false },
  { folders: ["api"], mayUsePeers: false },
  { folders: ["accounting", "label-index"], mayUsePeers: false },
  { folders: ["retry-batch", "work-queue"], mayUsePeers: false },
  { folders: ["kube", "config", "lifecycle", "server", "observability"], mayUsePeers: true },
  { folders: ["generator", "aggregator", "webhook", "update-trigger"], mayUsePeers: false },
  { folders: ["roles", "commands"], mayUsePeers: false },
  { folders: ["main.ts"], mayUsePeers: false },
];

/** Where a library may be imported, as prefixes below src/. The product may use no library that is not here. */
const libraryHomes: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/protobuf": ["kube/"],
  "@hono/node-server": ["webhook/", "server/"],
  "@kubernetes/client-node": ["kube/"],
  cac: ["commands/"],
  "fastest-levenshtein": ["config/"],
  hono: ["webhook/", "server/"],
  "js-yaml": ["config/", "kube/"],
  pino: ["observability/"],
  "pino-pretty": ["observability/"],
  "prom-client": ["observability/"],
  undici: ["kube/"],
  valibot: ["api/", "config/", "webhook/"],
};

/** Folders that do no input or output: of Node they may use only `pureBuiltins`. */
const pureFolders = new Set(["util", "api", "accounting", "label-index", "retry-batch", "work-queue"]);
/** Files in those folders that wrap the clock and the file system for the rest. */
const machineFiles = new Set(["src/util/regular-file.ts", "src/util/system-clock.ts"]);
const pureBuiltins = new Set(["node:assert", "node:assert/strict", "node:buffer", "node:crypto", "node:util"]);

const folderOf = (file: string): string => file.split("/")[1] ?? "";
const layerOf = (folder: string): number => layers.findIndex((layer) => layer.folders.includes(folder));
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

function judgeLibrary(file: string, specifier: string): string | undefined {
  if (specifier.startsWith("node:")) {
    const isPure = pureFolders.has(folderOf(file)) && !machineFiles.has(file);
    return isPure && !pureBuiltins.has(specifier)
      ? `${specifier} in ${folderOf(file)}/, which only computes`
      : undefined;
  }
  const name = packageOf(specifier);
  const homes = libraryHomes[name];
  if (homes === undefined) return `${name} has no home in scripts/check/imports.ts`;
  if (homes.some((home) => file.startsWith(`src/${home}`))) return undefined;
  return `${name} away from home (${homes.join(", ")})`;
}

function judgeRelative(file: string, specifier: string): string | undefined {
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (!target.startsWith("src/")) {
    return target === "package.json" ? undefined : `${target} is outside of src/: the product imports only itself`;
  }
  const [from, to] = [folderOf(file), folderOf(target)];
  const [own, other] = [layerOf(from), layerOf(to)];
  if (from === to || own === -1 || other === -1) return undefined; // an unknown folder is reported once, by checkImports
  if (other > own) return `${from} imports ${to}, which is above it`;
  if (other === own && layers[own]?.mayUsePeers !== true) return `${from} imports ${to}, which stands beside it`;
  return undefined;
}

function judge(file: string, { specifier }: ImportSite): string | undefined {
  if (specifier === undefined) return "computed import(): name the module";
  return specifier.startsWith(".") ? judgeRelative(file, specifier) : judgeLibrary(file, specifier);
}

/** Reports folders of one layer that use each other in a circle, each circle once. */
function findFolderCircles(sources: readonly SourceFile[]): string[] {
  const uses = new Map<string, Set<string>>();
  for (const { path: file, syntax } of sources) {
    for (const { specifier } of syntax.imports) {
      if (specifier?.startsWith(".") !== true) continue;
      const to = folderOf(path.posix.join(path.posix.dirname(file), specifier));
      const from = folderOf(file);
      const isPeer = layers[layerOf(from)]?.mayUsePeers === true && layerOf(from) === layerOf(to);
      if (from !== to && isPeer) uses.set(from, (uses.get(from) ?? new Set()).add(to));
    }
  }
  const circles = new Set<string>();
  const walk = (folder: string, trail: readonly string[]): void => {
    const at = trail.indexOf(folder);
    if (at === -1) for (const next of uses.get(folder) ?? []) walk(next, [...trail, folder]);
    else if (trail.slice(at).toSorted()[0] === folder) circles.add([...trail.slice(at), folder].join(" > "));
  };
  for (const folder of uses.keys()) walk(folder, []);
  return Array.from(circles, (circle) => `src: folders import each other in a circle: ${circle}`);
}

/** Checks the imports of src/; returns one line for each violation. */
export function checkImports(repository: Repository): string[] {
  const sources = repository.sourcesIn("src/");
  const problems: string[] = [];
  const folders = new Set(sources.map(({ path: file }) => folderOf(file)));
  for (const folder of folders) {
    if (layerOf(folder) === -1) problems.push(`src/${folder}: in no layer of scripts/check/imports.ts`);
  }
  for (const { path: file, syntax } of sources) {
    for (const site of syntax.imports) {
      const problem = judge(file, site);
      if (problem !== undefined) problems.push(`${file}:${site.line}: ${problem}`);
    }
  }
  return [...problems, ...findFolderCircles(sources)];
}
