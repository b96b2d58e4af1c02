/** Kubeconfigs in temporary folders. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeKubeconfig } from "../../../support/kubeconfig.ts";

export type Context = { after(end: () => void): void };

export function temporaryFolder(t: Context): string {
  const folder = mkdtempSync(path.join(tmpdir(), "podseidon-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes `folder`/config and returns its path. */
export function writeKubeConfig(folder: string, cluster: object, user: object | undefined): string {
  return writeKubeconfig(path.join(folder, "config"), cluster, user);
}
