// The import direction of the house, as one table: who may import whom, and where each library lives. main > roles |
// commands > generator | aggregator | webhook | update-trigger > kube, config, lifecycle, server, observability >
// retry-batch, work-queue > accounting, label-index > api > util oxlint's `import/no-cycle` finds cycles of files; this
// checker finds upward imports, role-to-role imports, cycles of folders, libraries away from home and folders that
// nobody put into the table.
import path from "node:path";
import {
  findImports,
  lineAt,
  blankNonCode,
  readRepository,
  type ImportSite,
  type RepositoryFile,
} from "./check-text.ts";

interface Layer {
  readonly folders: readonly string[];
  /** May folders of this layer use each other (in one direction)? Never for the roles. */
  readonly mayUsePeers: boolean;
}

/** From the bottom to the top. A folder imports itself and the layers below it. */
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

/**
 * Where a library may be imported, as prefixes below src/. A library that is not here may not be used in the product.
 */
const libraryHomes: Readonly<Record<string, readonly string[]>> = {
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

/** Folders that see neither the world nor the clock may use only these parts of Node: they compute and nothing else. */
const pureFolders = new Set(["util", "api", "accounting", "label-index", "retry-batch", "work-queue"]);
/** The parts of util/ that are the way to the machine. */
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
  if (homes === undefined) return `${name} has no home in scripts/check-imports.ts`;
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

function judge(file: string, site: ImportSite): string | undefined {
  const isRelative = site.specifier.startsWith(".");
  return isRelative ? judgeRelative(file, site.specifier) : judgeLibrary(file, site.specifier);
}

/** Reports folders of one layer that use each other in a circle, each circle once. */
function findFolderCycles(sources: readonly RepositoryFile[]): string[] {
  const uses = new Map<string, Set<string>>();
  for (const { path: file, text } of sources) {
    for (const { specifier } of findImports(text)) {
      if (!specifier.startsWith(".")) continue;
      const to = folderOf(path.posix.join(path.posix.dirname(file), specifier));
      const from = folderOf(file);
      const isPeer = layers[layerOf(from)]?.mayUsePeers === true && layerOf(from) === layerOf(to);
      if (from !== to && isPeer) uses.set(from, (uses.get(from) ?? new Set()).add(to));
    }
  }
  const cycles = new Set<string>();
  const walk = (folder: string, trail: readonly string[]): void => {
    const at = trail.indexOf(folder);
    if (at === -1) for (const next of uses.get(folder) ?? []) walk(next, [...trail, folder]);
    else if (trail.slice(at).toSorted()[0] === folder) cycles.add([...trail.slice(at), folder].join(" > "));
  };
  for (const folder of uses.keys()) walk(folder, []);
  return Array.from(cycles, (cycle) => `src: folders import each other in a circle: ${cycle}`);
}

/** Checks the imports of src/ below `root`; returns one line for each violation. */
export function checkImports(root: string): string[] {
  const sources = readRepository(root).filter(({ path: file }) => /^src\/.*\.ts$/.test(file));
  const problems: string[] = [];
  const folders = new Set(sources.map(({ path: file }) => folderOf(file)));
  for (const folder of folders) {
    if (layerOf(folder) === -1) problems.push(`src/${folder}: in no layer of scripts/check-imports.ts`);
  }
  for (const { path: file, text } of sources) {
    for (const site of findImports(text)) {
      const problem = judge(file, site);
      if (problem !== undefined) problems.push(`${file}:${site.line}: ${problem}`);
    }
    for (const computed of blankNonCode(text).matchAll(/\bimport\s*\(\s*[^"'`\s)]/g)) {
      problems.push(`${file}:${lineAt(text, computed.index)}: computed import(): name the module`);
    }
  }
  return [...problems, ...findFolderCycles(sources)];
}
