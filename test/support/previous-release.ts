/**
 * The release before this one: the commit in previous-release.txt, the last one before a large change. Its sources come
 * out of the repository's own history.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** It takes a second. A clone that has left objects behind at its origin waits for a network. */
const stepLimitMs = 60_000;

const unpacked = ["src", "package.json", "manifests/base/crd"];

export const previousCommit = readFileSync(new URL("previous-release.txt", import.meta.url), "utf8").trim();

/**
 * Unpacks `src`, `package.json` and the CRD of the previous release into the directory. Returns why that cannot be
 * done: a shallow clone has not got the commit, a release archive has no history, and a bare machine has no git.
 */
export function unpackPreviousRelease(directory: string): { readonly missing: string | undefined } {
  mkdirSync(directory, { recursive: true });
  const archive = path.join(directory, "sources.tar");
  const missing =
    problemOf("git", ["archive", "--format=tar", `--output=${archive}`, previousCommit, ...unpacked]) ??
    problemOf("tar", ["-xf", archive, "-C", directory]);
  return { missing: missing === undefined ? undefined : `no sources of commit ${previousCommit}: ${missing}` };
}

function problemOf(command: string, args: readonly string[]): string | undefined {
  const { status, error, stderr } = spawnSync(command, args, { cwd: root, timeout: stepLimitMs, encoding: "utf8" });
  if (status === 0) return undefined;
  return error?.message ?? `${command}: ${stderr.trim()}`;
}
