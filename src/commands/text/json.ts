/** JSON for stdout. It may reach a terminal, so what JSON leaves as it is but could control one is escaped. */

/** With a line end. `isLine`: on one line, for a stream of several. */
export function jsonText(value: unknown, isLine = false): string {
  const text = JSON.stringify(value, undefined, isLine ? undefined : 2);
  // JSON escapes what is below U+0020. Inside of JSON the others occur only in strings.
  const escaped = text.replaceAll(/[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu, (char) =>
    Array.from({ length: char.length }, (_, index) => escapeUnit(char.charCodeAt(index))).join(""),
  );
  return `${escaped}\n`;
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
