/**
 * The HTTP servers of the process:
 * - listeners with their limits (listen.ts), their connections (connections.ts), TLS files (certificate.ts), client
 *   certificates (client-auth.ts);
 * - a server as a Component, and what every process serves: health, metrics, profiles (server-component.ts).
 */
export { type ClientRejection, quoteNames } from "./client-auth.ts";
export { type DropReason } from "./connections.ts";
export { createHealthApp } from "./server-component.ts";
export { listen } from "./listen.ts";
export { createMetricsApp } from "./server-component.ts";
export { createProfilesApp } from "./server-component.ts";
export { createServer, type ServerComponent, type ServerOptions } from "./server-component.ts";
