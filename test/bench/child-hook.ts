/**
 * Loaded before src/main.ts into the webhook processes that the benchmark starts (--import): answers each message with
 * what the process has used, so that the program itself needs to know nothing of benchmarks. Needs --expose-gc.
 */
export interface Usage {
  readonly cpuMicros: number;
  /** After a full collection. */
  readonly heapBytes: number;
}

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  gc?.();
  const usage: Usage = { cpuMicros: user + system, heapBytes: process.memoryUsage().heapUsed };
  process.send?.(usage);
});
