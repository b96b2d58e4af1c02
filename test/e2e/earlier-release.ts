/** Runs the program of an earlier commit of this repository, from its sources. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Program } from "./process.ts";

/** The last commit whose aggregator has no heartbeats. */
export const commitWithoutHeartbeats = "279de60f947c6212344c97075a5475c5e265e6a1";

const root = fileURLToPath(new URL("../../", import.meta.url));
/** It takes a second. */
const gitLimitMs = 60_000;

/** Needs the history of the repository. The packages are those of today. */
export function programOfCommit(commit: string, directory: string): Program {
  mkdirSync(directory, { recursive: true });
  const archive = path.join(directory, "sources.tar");
  const options = { cwd: root, timeout: gitLimitMs };
  execFileSync("git", ["archive", "--format=tar", `--output=${archive}`, commit, "src", "package.json"], options);
  execFileSync("tar", ["-xf", archive, "-C", directory], options);
  symlinkSync(path.join(root, "node_modules"), path.join(directory, "node_modules"));
  return { command: process.execPath, args: [path.join(directory, "src/main.ts")] };
}
