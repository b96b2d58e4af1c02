// The import direction of the house, as one table: which folder may import which, and where each library belongs. The
// lint has no rule for that. Circles are found by circles.ts.
import path from "node:path";
import { type Repository } from "./repository.ts";
import { type ImportSite } from "./syntax.ts";

interface Layer {
  readonly folders: readonly string[];
  /** Folders of this layer may import each other, in one direction (circles.ts). Never true for the roles. */
  readonly mayUsePeers: boolean;
}

/** From the bottom to the top. A folder imports itself and the layers below it: docs/contributing.md#layers. */
const layers: readonly Layer[] = [
  { folders: ["util"], mayUsePeers: false },
  { folders: ["api"], mayUsePeers: false },
  { folders: ["accounting", "label-index"], mayUsePeers: false },
  { folders: ["retry-batch", "work-queue"], mayUsePeers: false },
  { folders: ["kube", "config", "lifecycle", "server", "certificates", "observability", "carried"], mayUsePeers: true },
  { folders: ["scale"], mayUsePeers: false },
  { folders: ["sources"], mayUsePeers: false },
  { folders: ["generator", "aggregator", "webhook", "update-trigger"], mayUsePeers: false },
  { folders: ["roles", "commands"], mayUsePeers: false },
  { folders: ["main.ts"], mayUsePeers: false },
];

/** From the bottom to the top: the folders in a folder of a layer. Files beside them are free, but see circles.ts. */
const orders: Readonly<Record<string, readonly string[]>> = {
  accounting: ["history", "silence", "settle", "count", "reserve"],
  aggregator: ["watching", "counting", "audits", "heartbeats"],
  config: ["types", "flags", "reading", "rules", "pages"],
  generator: ["metrics", "sources", "conditions", "protectors", "mass-changes", "feeds", "cells"],
  webhook: ["outage", "protector", "decide", "http"],
};

/** Folders that are imported, also from beside them, only through their index.ts. */
const doors = ["kube/transport", "kube/watch", "kube/leader-election", "kube/protobuf", "kube/cell-leases"];

/** Where a library may be imported, as prefixes below src/. The product may use no library that is not here. */
const libraryHomes: Readonly<Record<string, readonly string[]>> = {
  "@bufbuild/protobuf": ["kube/"],
  "@hono/node-server": ["webhook/", "server/"],
  "@kubernetes/client-node": ["kube/"],
  "@peculiar/x509": ["certificates/"],
  cac: ["commands/"],
  "fastest-levenshtein": ["config/"],
  hono: ["webhook/", "server/", "commands/dashboard/"],
  "js-yaml": ["config/", "kube/", "carried/", "commands/install/"],
  pino: ["observability/"],
  "pino-pretty": ["observability/"],
  "prom-client": ["observability/"],
  "reflect-metadata": ["certificates/"],
  undici: ["kube/"],
  valibot: ["api/", "config/", "sources/", "webhook/"],
};

/** Files that may take types from a library whose home is elsewhere: by `import type`, which loads nothing. */
const typeHomes: Readonly<Record<string, readonly string[]>> = { "@kubernetes/client-node": ["api/models.ts"] };

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

function judgeLibrary(file: string, specifier: string, isTypeOnly: boolean): string | undefined {
  if (specifier.startsWith("node:")) {
    const isPure = pureFolders.has(folderOf(file)) && !machineFiles.has(file);
    return isPure && !pureBuiltins.has(specifier)
      ? `${specifier} in ${folderOf(file)}/, which only computes`
      : undefined;
  }
  const name = packageOf(specifier);
  const homes = libraryHomes[name];
  if (homes === undefined) return `${name} has no home in scripts/check/imports.ts`;
  const allowed = isTypeOnly ? [...homes, ...(typeHomes[name] ?? [])] : homes;
  if (allowed.some((home) => file.startsWith(`src/${home}`))) return undefined;
  return `${name} away from home (${homes.join(", ")})`;
}

/** What is wrong with an import that goes past the door of a folder. */
function judgeDoor(file: string, target: string): string | undefined {
  const folder = doors.find((door) => target.startsWith(`src/${door}/`) && !file.startsWith(`src/${door}/`));
  if (folder === undefined || target === `src/${folder}/index.ts`) return undefined;
  return `${target} is inside of ${folder}, which is imported through its index.ts`;
}

/** What is wrong with an import between two folders inside `folder`. */
function judgeInside(folder: string, file: string, target: string): string | undefined {
  const order = orders[folder];
  const [from = "", to = ""] = [file, target].map((name) => name.split("/")[2]);
  if (order === undefined || order.indexOf(to) <= order.indexOf(from) || !order.includes(from)) return undefined;
  return `${folder}/${from} imports ${folder}/${to}, which is above it`;
}

function judgeRelative(file: string, specifier: string): string | undefined {
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (!target.startsWith("src/")) {
    return target === "package.json" ? undefined : `${target} is outside of src/: the product imports only itself`;
  }
  const pastDoor = judgeDoor(file, target);
  if (pastDoor !== undefined) return pastDoor;
  const [from, to] = [folderOf(file), folderOf(target)];
  const [own, other] = [layerOf(from), layerOf(to)];
  if (from === to) return judgeInside(from, file, target);
  if (own === -1 || other === -1) return undefined; // unknown folders: checkImports
  if (other > own) return `${from} imports ${to}, which is above it`;
  if (other === own && layers[own]?.mayUsePeers !== true) return `${from} imports ${to}, which stands beside it`;
  return undefined;
}

function judge(file: string, { specifier, isTypeOnly }: ImportSite): string | undefined {
  if (specifier === undefined) return "computed import(): name the module";
  return specifier.startsWith(".") ? judgeRelative(file, specifier) : judgeLibrary(file, specifier, isTypeOnly);
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
  return problems;
}
