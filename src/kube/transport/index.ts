/**
 * The client of one cluster over HTTP. `createKubeClient` loads the credentials (kube-config.ts, credentials.ts), keeps
 * the connections (connections.ts), limits the rate (token-bucket.ts) and classifies what goes wrong (kube-errors.ts).
 */
export { createKubeClient, type KubeClientDeps } from "./client.ts";
