/** A Logger that remembers. */
import { type LogFields, type Logger } from "../../../src/util/logger.ts";

export interface LogEntry {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

export function createRecordingLogger(): Logger & { readonly entries: LogEntry[]; messages(): string[] } {
  const entries: LogEntry[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      entries.push({ level, message, fields });
    };
  const logger = {
    entries,
    messages: () => entries.map(({ message }) => message),
    error: at("error"),
    warn: at("warn"),
    info: at("info"),
    verbose: (level: number, message: string, fields: LogFields = {}) => at(`v${level}`)(message, fields),
    isVerbose: () => true,
    with: () => logger,
  };
  return logger;
}
