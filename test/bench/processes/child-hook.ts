/**
 * Loaded before src/main.ts into the processes that the benchmark starts (--import): answers each message with
 * what the process has used, so that the program itself needs to know nothing of benchmarks. Needs --expose-gc.
 */
export interface Usage {
  readonly cpuMicros: number;
  /** After a full collection. */
  readonly heapBytes: number;
  /** Resident, after that. */
  readonly residentBytes: number;
  /** The largest resident size so far. */
  readonly peakBytes: number;
}

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  gc?.();
  const { heapUsed: heapBytes, rss: residentBytes } = process.memoryUsage();
  // In kibibytes.
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  const usage: Usage = { cpuMicros: user + system, heapBytes, residentBytes, peakBytes };
  process.send?.(usage);
});
