/**
 * A deletion that takes effect in several steps: which of them are judged by the figures of now, and which are only
 * described, because they depend on what others do. And what is in the way of pods, for people.
 */
import { printable } from "../../util/printable.ts";
import { type Terminal } from "../command.ts";
import { coloured, wrapped } from "../text/format.ts";
import { type FoundObstacle } from "./deletions.ts";

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

/** Pods that are named; the others are in the JSON. */
const podsMax = 3;
/** Obstacles that are shown: more than a screen of them. */
const obstaclesMax = 20;
const indent = "  ";

/** One paragraph for each, with a blank line before: who, what is in the way, which pods, what to do. */
export function obstacleLines(
  obstacles: readonly FoundObstacle[],
  terminal: Pick<Terminal, "columns" | "isColoured">,
): readonly string[] {
  const lines = (text: string): string =>
    wrapped(text, terminal.columns - indent.length, indent)
      .map((line) => `${indent}${line}\n`)
      .join("");
  const shown = obstacles.slice(0, obstaclesMax).map(({ by, text, cure, pods }) => {
    const more = pods.length - podsMax;
    const named =
      pods
        .slice(0, podsMax)
        .map((pod) => printable(pod))
        .join(", ") + (more > 0 ? ` and ${more} more` : "");
    const head = wrapped(`${by}: ${text}`, terminal.columns, indent).map(
      (line) => `${coloured(terminal, "bad", line)}\n`,
    );
    return `\n${head.join("")}${lines(`keeps ${named}`)}${lines(`to do: ${cure}`)}`;
  });
  const left = obstacles.length - obstaclesMax;
  return left > 0 ? [...shown, `\nAnd ${left} more; -o json has them all.\n`] : shown;
}
