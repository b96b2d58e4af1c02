/** Runs helm on manifests/chart. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { loadAll } from "js-yaml";
import { resolveGoTool } from "../../scripts/go/go-tool.ts";
import { helm } from "../../scripts/go/helm.ts";
import { type Manifest, manifestsFolder } from "../manifests/manifest-files.ts";

export const chart = path.join(manifestsFolder, "chart");
/** On a busy machine; helm needs a second. */
const timeoutMs = 120_000;

const program = await resolveGoTool(helm, (line) => console.error(line));

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runHelm(args: readonly string[], input = ""): Run {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    input,
    encoding: "utf8",
    timeout: timeoutMs,
    maxBuffer: 1 << 26,
  });
  if (error !== undefined) throw error;
  return { status, stdout, stderr };
}

/** The objects of a release, without those of hooks unless asked for. Throws what helm says when it refuses. */
export function rendered(values: object, { from = chart, hooks = false } = {}): readonly Manifest[] {
  const args = ["template", "podseidon", from, "--namespace=default", "--values=-", ...(hooks ? [] : ["--no-hooks"])];
  const { status, stdout, stderr } = runHelm(args, JSON.stringify(values));
  if (status !== 0) throw new Error(stderr);
  return (loadAll(stdout) as (Manifest | null)[]).filter((object) => object !== null);
}
