/**
 * The blocks of commands in the pages for people. The line that opens one says whether it is run:
 *
 *     ```sh run                            test/e2e/cases/people/pages.ts runs it on a guarded fleet
 *     ```sh not run here: needs a registry nobody here runs it, and why
 */
import { readPages } from "./pages.ts";

export type Mark = { readonly kind: "run" } | { readonly kind: "not-run"; readonly reason: string };

export interface CommandBlock {
  /** From the root of the repository. */
  readonly file: string;
  /** Of the line that opens it, from 1. */
  readonly line: number;
  readonly text: string;
  /** Undefined = nothing was said, or something else. */
  readonly mark: Mark | undefined;
}

const opening = /^\s*```(?:sh|bash|shell|console)\b(.*)$/;
const closing = /^\s*```\s*$/;

/** All blocks of shell commands of one page. */
export function commandBlocksOf(file: string, page: string): readonly CommandBlock[] {
  const blocks: CommandBlock[] = [];
  let open: { readonly line: number; readonly mark: Mark | undefined; readonly text: string[] } | undefined;
  for (const [index, line] of page.split("\n").entries()) {
    if (open !== undefined && closing.test(line)) {
      blocks.push({ file, line: open.line, text: open.text.join("\n"), mark: open.mark });
      open = undefined;
    } else if (open !== undefined) {
      open.text.push(line);
    } else {
      const [, said] = opening.exec(line) ?? [];
      if (said !== undefined) open = { line: index + 1, mark: markOf(said.trim()), text: [] };
    }
  }
  return blocks;
}

function markOf(said: string): Mark | undefined {
  if (said === "run") return { kind: "run" };
  const [, reason] = /^not run here: (\S.*)$/.exec(said) ?? [];
  return reason === undefined ? undefined : { kind: "not-run", reason };
}

/** Those of README.md and of all pages below docs. */
export function allCommandBlocks(): readonly CommandBlock[] {
  return readPages().flatMap(({ file, text }) => commandBlocksOf(file, text));
}
