/** Runs the program of the previous release, whose aggregator has no heartbeats, from its sources. */
import { symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { unpackPreviousRelease } from "../support/previous-release.ts";
import { type Program } from "./process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Throws where its sources are not at hand. The packages are those of today. */
export function previousProgram(directory: string): Program {
  const { missing } = unpackPreviousRelease(directory);
  if (missing !== undefined) throw new Error(missing);
  symlinkSync(path.join(root, "node_modules"), path.join(directory, "node_modules"));
  return { command: process.execPath, args: [path.join(directory, "src/main.ts")] };
}
