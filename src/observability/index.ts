/**
 * How a running process is observed: logs (logger.ts), metrics (metrics.ts, histogram.ts), health checks (health.ts),
 * profiles (profiler.ts), and when certificates end (certificate-expiry.ts).
 */
export { CertificateExpiry } from "./certificate-expiry.ts";
export { createHealth, type HealthRegistry } from "./health.ts";
export { createLogger, isJournal, withPriority } from "./logger.ts";
export { createHeartbeat, createMetrics, showBuildInfo } from "./metrics.ts";
export { createInspectorSession, createProfiler } from "./profiler.ts";
