/**
 * How a running process is observed: logs (logger.ts), metrics (metrics.ts, heartbeat.ts, histogram.ts, build-info.ts)
 * and health checks (health.ts), profiles (profiler.ts), and when certificates end (certificate-expiry.ts).
 */
export { showBuildInfo } from "./build-info.ts";
export { CertificateExpiry } from "./certificate-expiry.ts";
export { createHealth, type HealthRegistry } from "./health.ts";
export { createHeartbeat } from "./heartbeat.ts";
export { createLogger } from "./logger.ts";
export { createMetrics } from "./metrics.ts";
export { isJournal, withPriority } from "./journal.ts";
export { createInspectorSession, createProfiler } from "./profiler.ts";
