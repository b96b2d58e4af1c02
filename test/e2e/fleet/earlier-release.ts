/** Runs the program of the previous release, whose aggregator has no heartbeats, from its sources. */
import { symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { unpackPreviousRelease } from "../../support/previous-release.ts";
import { type Program } from "./process.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

export interface EarlierRelease {
  readonly program: Program;
  /** File of its CustomResourceDefinition. */
  readonly crd: string;
}

/** Throws where its sources are not at hand. The packages are those of today. */
export function earlierRelease(directory: string): EarlierRelease {
  const { missing } = unpackPreviousRelease(directory);
  if (missing !== undefined) throw new Error(missing);
  symlinkSync(path.join(root, "node_modules"), path.join(directory, "node_modules"));
  return {
    program: {
      command: process.execPath,
      args: [path.join(directory, "src/main.ts")],
      unknownFlags: ["cell-lease-namespace"],
    },
    crd: path.join(directory, "manifests/base/crd/podprotectors.yaml"),
  };
}
