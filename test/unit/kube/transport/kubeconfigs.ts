/** Kubeconfigs in temporary folders. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export type Context = { after(end: () => void): void };

export function temporaryFolder(t: Context): string {
  const folder = mkdtempSync(path.join(tmpdir(), "podseidon-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes a kubeconfig (YAML is a superset of JSON) and returns its path. */
export function writeKubeConfig(folder: string, cluster: object, user: object | undefined): string {
  const file = path.join(folder, "config");
  const document = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "c", ...(user !== undefined && { user: "u" }) } }],
    clusters: [{ name: "c", cluster }],
    users: user === undefined ? [] : [{ name: "u", user }],
  };
  writeFileSync(file, JSON.stringify(document));
  return file;
}
