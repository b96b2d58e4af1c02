/** Words of commands that people paste into a shell. Names of a cluster may be anything. */

/** As one word of a POSIX shell, which means nothing but itself. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
