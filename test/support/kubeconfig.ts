/** The one writer of kubeconfig files for tests. JSON is YAML, so no library is needed. */
import { writeFileSync } from "node:fs";

/** A kubeconfig's entry for the cluster at `url`; `caPem` where it serves HTTPS with an authority of its own. */
export function clusterAt(url: string, caPem?: string): object {
  const ca = caPem === undefined ? {} : { "certificate-authority-data": Buffer.from(caPem).toString("base64") };
  return { server: url, ...ca };
}

/**
 * Writes a kubeconfig with one cluster and one user, and returns `file`. Readable by its owner only, like real ones.
 * `cluster` and `user` are what kubeconfigs have under these names; without `user` the context names none.
 */
export function writeKubeconfig(file: string, cluster: object, user?: object): string {
  const document = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "main", cluster }],
    users: user === undefined ? [] : [{ name: "main", user }],
    contexts: [{ name: "main", context: { cluster: "main", ...(user !== undefined && { user: "main" }) } }],
    "current-context": "main",
  };
  writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 });
  return file;
}
