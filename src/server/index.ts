/**
 * The HTTP servers of the process:
 * - listeners with their limits (listen.ts), their connections (connections.ts), TLS files (certificate.ts), client
 *   certificates (client-auth.ts), and a server as a Component (server-component.ts);
 * - what every role serves: health (health-server.ts), metrics (metrics-server.ts), profiles (profiles-server.ts).
 */
export { type ClientRejection, quoteNames } from "./client-auth.ts";
export { type DropReason } from "./connections.ts";
export { createHealthApp } from "./health-server.ts";
export { listen } from "./listen.ts";
export { createMetricsApp } from "./metrics-server.ts";
export { createProfilesApp } from "./profiles-server.ts";
export { createServer, type ServerComponent, type ServerOptions } from "./server-component.ts";
