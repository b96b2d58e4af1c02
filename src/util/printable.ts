/** The one filter for text of others that people read: in messages, Events, conditions and logs. */

/** Text may be of any length: a line for a terminal fits in this. */
const lengthMax = 300;

/**
 * `text` as it can be shown: no control characters (C0 and C1), nothing that changes the direction or order of what
 * stands beside it, no line breaks, and not too long.
 */
export function printable(text: string): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
  return cut.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");
}

/** The message of whatever was thrown, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
