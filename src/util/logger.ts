/** The logging contract that every component receives. observability/ implements it with pino. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** A constant message; variables go into `fields`. An Error goes under the key `err`. */
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** Written only when --klog-v is at least `level` (1 to 10). */
  verbose(level: number, message: string, fields?: LogFields): void;
  /** True when `verbose(level, …)` would write: guards costly fields. */
  isVerbose(level: number): boolean;
  /** A logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

/** Drops everything. */
export const silentLogger: Logger = {
  error() {},
  warn() {},
  info() {},
  verbose() {},
  isVerbose: () => false,
  with: () => silentLogger,
};
