/** What is in the way of pods, for people. */
import { type Terminal } from "../command.ts";
import { coloured } from "../text/colour.ts";
import { wrapped } from "../text/wrap.ts";
import { printable } from "../../util/printable.ts";
import { type FoundObstacle } from "./deletions.ts";

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
