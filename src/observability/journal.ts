/**
 * The priority of a log line for systemd's journal: the prefix `<N>`, which the journal reads and takes off
 * (sd-daemon(3)). So `journalctl -p warning` finds warnings of a JSON log.
 */

const priorities: Readonly<Record<string, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** Whether systemd has connected a file to the journal: `journalStream` is JOURNAL_STREAM of systemd.exec(5). */
export function isJournal(
  journalStream: string | undefined,
  file: { readonly dev: number; readonly ino: number },
): boolean {
  return journalStream === `${file.dev}:${file.ino}`;
}

/** `line` is one JSON object of the log, its level first. */
export function withPriority(line: string): string {
  const [, level = "info"] = /^\{"level":"(\w+)"/.exec(line) ?? [];
  return `<${priorities[level] ?? priorities["info"]}>${line}`;
}
