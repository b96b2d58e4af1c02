// Rules for every file whatever is in it: its name, its length, marks of unfinished work, and text that would tie the
// repository to one machine.
import os from "node:os";
import path from "node:path";
import { type Repository, type RepositoryFile } from "./repository.ts";
import { lineAt } from "./syntax.ts";

/** Longer files hold more than one idea. */
const linesMax = 400;
/** Fuller folders are rooms in which a stranger reads every name: data beside the sources does not count. */
const sourcesMax = 16;

// Spelt so that this file does not find itself.
const unfinished = /\b(?:TO[D]O|FIX[M]E|X[X]X|HAC[K])\b/g;
const emptyName = /(?:^|[/.-])(?:utils?|helpers?|misc|common)(?:\.test)?\.ts$/;
const registryHost = /\bregistry\.[a-z0-9-]+\.[a-z]{2,}/g;
const homeFolder = /(?<![\w.$}~-])\/(?:home|Users|root)\/\w+/g;

const report = (file: RepositoryFile, pattern: RegExp, problem: string): string[] =>
  Array.from(
    file.text.matchAll(pattern),
    (match) => `${file.path}:${lineAt(file.text, match.index)}: ${match[0].trim()}: ${problem}`,
  );

function checkLength(file: RepositoryFile): string[] {
  if (!/\.(?:ts|mjs)$/.test(file.path)) return [];
  const lines = file.text.trimEnd().split("\n").length;
  return lines <= linesMax ? [] : [`${file.path}: ${lines} lines (at most ${linesMax})`];
}

function checkMarks(file: RepositoryFile): string[] {
  if (file.path === "LICENSE" || file.path === "package-lock.json") return [];
  return report(file, unfinished, "finish it, or write an issue");
}

const checkName = (file: RepositoryFile): string[] =>
  emptyName.test(file.path) ? [`${file.path}: name the file after its one idea`] : [];

/** Finds names of package or image servers, and paths that exist on the machine of one person. */
function checkMachineNames(file: RepositoryFile, ownFolders: readonly string[]): string[] {
  const found = ownFolders.find((folder) => file.text.includes(`${folder}/`));
  if (found !== undefined) return [`${file.path}: ${found} is a path of this machine`];
  return [
    ...report(file, registryHost, "no registry host in the sources"),
    ...report(file, homeFolder, "a path of one machine"),
  ];
}

/** Checks how many sources each folder has of its own; returns one line for each violation. */
export function checkFolders(repository: Repository): string[] {
  const folders = Map.groupBy(repository.sources, ({ path: file }) => path.posix.dirname(file));
  return [...folders]
    .filter(([, sources]) => sources.length > sourcesMax)
    .map(([folder, { length }]) => `${folder}: ${length} sources (at most ${sourcesMax}): make rooms in it`);
}

/** Checks all files; returns one line for each violation. */
export function checkFiles(repository: Repository): string[] {
  // Only a folder two or more levels deep has a path that cannot occur by chance.
  const ownFolders = [path.resolve(repository.root), os.homedir()].filter(
    (folder) => folder.split(path.sep).length > 2,
  );
  return repository.files.flatMap((file) => [
    ...checkName(file),
    ...checkLength(file),
    ...checkMarks(file),
    ...checkMachineNames(file, ownFolders),
  ]);
}
