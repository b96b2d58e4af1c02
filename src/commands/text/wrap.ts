/** Breaks text into lines. */

/**
 * Lines of at most `width` characters, broken at blanks; the first keeps its own indent, the later ones get `indent`.
 * A word that is longer than a line is left whole, so that it can be copied; where the indent alone is too much, it
 * begins further to the left. Colours take no room.
 */
export function wrapped(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  const [margin = ""] = /^ */.exec(text) ?? [];
  let line = margin;
  for (const word of text.slice(margin.length).split(" ")) {
    const isFirst = line.trim() === "";
    const joined = isFirst ? line + word : `${line} ${word}`;
    if (isFirst || lengthOf(joined) <= width) line = joined;
    else {
      lines.push(line);
      line = " ".repeat(Math.max(0, Math.min(indent.length, width - lengthOf(word)))) + word;
    }
  }
  return [...lines, line];
}

function lengthOf(text: string): number {
  return text.replaceAll(/\u001b\[\d+m/g, "").length;
}

/** A command for a shell in lines of at most `width` characters, so that they can be copied as they are. */
export function wrappedCommand(command: string, width: number, indent: string): readonly string[] {
  const continued = " \\";
  const lines = wrapped(indent + command, width - continued.length, `${indent}  `);
  return lines.map((line, index) => (index === lines.length - 1 ? line : line + continued));
}
