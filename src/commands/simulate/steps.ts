/**
 * A deletion that takes effect in several steps: which of them are judged by the figures of now, and which are only
 * described, because they depend on what others do.
 */
import { type Terminal } from "../command.ts";
import { wrapped } from "../text/wrap.ts";

export interface Step {
  /** Computed from what the clusters show now. */
  readonly isJudged: boolean;
  /** One or more sentences, with full stops. Printable. */
  readonly text: string;
}

/** One paragraph for each; "known" and "expected" say on what it rests. */
export function stepLines(steps: readonly Step[], terminal: Pick<Terminal, "columns">): readonly string[] {
  const indent = " ".repeat("1. expected  ".length);
  return steps.map(({ isJudged, text }, index) => {
    const mark = `${index + 1}. ${isJudged ? "known   " : "expected"}  `;
    const lines = wrapped(text, terminal.columns - indent.length);
    return lines.map((line, at) => `${at === 0 ? mark : indent}${line}\n`).join("");
  });
}
