/** Kubeconfig files. JSON is YAML, so no writer is needed. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Writes a kubeconfig for one user of one cluster and returns its path. Readable by its owner only, like the real ones.
 */
export function writeKubeconfig(
  file: string,
  cluster: { url: string; caPem: string },
  user: { name: string; token: string },
): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "e2e",
        cluster: { server: cluster.url, "certificate-authority-data": Buffer.from(cluster.caPem).toString("base64") },
      },
    ],
    users: [{ name: user.name, user: { token: user.token } }],
    contexts: [{ name: "e2e", context: { cluster: "e2e", user: user.name } }],
    "current-context": "e2e",
  };
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(config, null, 2), { mode: 0o600 });
  return file;
}
