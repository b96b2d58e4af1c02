/**
 * What people and machines see of a running process: logs (logger.ts), metrics (metrics.ts, heartbeat.ts, metrics-server.ts), health
 * (health.ts, health-server.ts), and the listeners that serve them (listen.ts, certificate.ts, client-auth.ts,
 * server-component.ts). histogram.ts counts durations cheaply.
 */
export { type ClientRejection } from "./client-auth.ts";
export { createHealth, type HealthRegistry } from "./health.ts";
export { createHealthApp } from "./health-server.ts";
export { createHeartbeat } from "./heartbeat.ts";
export { listen, type Listener, type ListenOptions } from "./listen.ts";
export { createLogger } from "./logger.ts";
export { createMetrics } from "./metrics.ts";
export { createMetricsApp } from "./metrics-server.ts";
export { createServer, type ServerComponent, type ServerOptions } from "./server-component.ts";
