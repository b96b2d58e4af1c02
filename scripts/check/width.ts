// Lines of at most 120 columns, in code, comments and prose alike. The formatter breaks code only: it leaves long
// strings and comments alone.
import { type Repository, type RepositoryFile } from "./repository.ts";

const columnsMax = 120;
/** As a Makefile's reader sees them. */
const tabColumns = 8;

/** A table or a line that holds one link cannot be broken. */
const table = /^\s*(?:>\s*)*\|/;
const onlyLink =
  /^\s*(?:[-*>]\s+|\d+\.\s+)?(?:\[[^\]]*\]:\s*\S+|!?\[[^\]]*\]\([^)]*\)|\[!\[.*\)|<?https?:\/\/\S+>?)[.,;:]?$/;
const fence = /^\s*(?:```|~~~)/;

const columns = (line: string): number => Array.from(line.replaceAll("\t", " ".repeat(tabColumns))).length;

/** The lines of a file that must keep to the width, each with its number. */
function linesToCheck({ path: name, text }: RepositoryFile): { line: string; number: number }[] {
  const lines = text.split("\n").map((line, index) => ({ line, number: index + 1 }));
  if (/\.(?:ts|mjs|sh)$|(?:^|\/)(?:Makefile|Dockerfile|run)$/.test(name)) return lines;
  if (/\.ya?ml$/.test(name)) return lines.filter(({ line }) => /(?:^|\s)#/.test(line));
  if (!name.endsWith(".md")) return [];
  let isCode = false;
  return lines.filter(({ line }) => {
    if (fence.test(line)) isCode = !isCode;
    return !isCode && !table.test(line) && !onlyLink.test(line);
  });
}

/** Checks all files of which people read the source; returns one line for each line that is too long. */
export function checkWidth(repository: Repository): string[] {
  return repository.files.flatMap((file) =>
    linesToCheck(file)
      .filter(({ line }) => columns(line) > columnsMax)
      .map(({ line, number }) => `${file.path}:${number}: ${columns(line)} columns (at most ${columnsMax})`),
  );
}
