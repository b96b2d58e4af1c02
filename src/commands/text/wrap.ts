/** Breaks text into lines. */

/**
 * Lines of at most `width` characters, broken at blanks; the second and later ones begin with `indent`. A word that is
 * longer than a line is left whole, so that commands can be copied.
 */
export function wrapped(text: string, width: number, indent = ""): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const joined = line === "" || line === indent ? line + word : `${line} ${word}`;
    if (joined.length <= width || line === "" || line === indent) line = joined;
    else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line];
}
