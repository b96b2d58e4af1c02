/**
 * The release before this one, for worlds that are upgraded while they run: the sources of the commit in
 * ../previous-release.txt, out of this repository's own history, with the libraries of today. Bundled once for each
 * commit, and kept in node_modules/.cache: Node loads no TypeScript from there.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { type Release } from "./release.ts";

const root = path.join(import.meta.dirname, "..", "..", "..");
const cache = path.join(root, "node_modules", ".cache", "previous-release");
/** All sources are 2 MB. */
const archiveBytesMax = 64 * 1024 * 1024;

/** The parts of the release, as release.ts has them. */
const entry = `
  import { createAggregator } from "./src/roles/aggregator.ts";
  import { createGenerator } from "./src/roles/generator.ts";
  import { createWebhook } from "./src/roles/webhook.ts";
  export { loadConfig } from "./src/config/index.ts";
  export { createClients } from "./src/roles/runtime.ts";
  export const roles = { generator: createGenerator, aggregator: createAggregator, webhook: createWebhook };
`;

export type PreviousRelease =
  | { readonly isThere: true; readonly release: Release }
  /** A shallow clone, or a copy without a history. */
  | { readonly isThere: false; readonly why: string };

let loading: Promise<PreviousRelease> | undefined;

/** Loads it once for each thread. Rejects when the sources are there, but cannot be bundled or loaded. */
export function previousRelease(): Promise<PreviousRelease> {
  loading ??= load();
  return loading;
}

async function load(): Promise<PreviousRelease> {
  const commit = readFileSync(path.join(import.meta.dirname, "..", "previous-release.txt"), "utf8").trim();
  const file = path.join(cache, `${commit}.mjs`);
  if (!existsSync(file)) {
    const archive = sourcesOf(commit);
    if (archive === undefined) {
      const why = `the history here does not reach back to commit ${commit} (git fetch --unshallow brings it)`;
      return { isThere: false, why };
    }
    await bundle(archive, file);
  }
  // Its contracts towards main.ts are those of today, but for members that came later, which it does not read.
  return { isThere: true, release: (await import(pathToFileURL(file).href)) as Release };
}

/** A tar archive; undefined where the commit is not there. */
function sourcesOf(commit: string): Buffer | undefined {
  const git = (...args: string[]): Buffer =>
    execFileSync("git", args, { cwd: root, maxBuffer: archiveBytesMax, stdio: ["ignore", "pipe", "ignore"] });
  try {
    git("cat-file", "-e", `${commit}^{tree}`);
  } catch {
    return undefined;
  }
  return git("archive", "--format=tar", commit, "src", "package.json");
}

/** Threads and processes may do the same at the same time: the last one wins, with the same text. */
async function bundle(archive: Buffer, outfile: string): Promise<void> {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(path.join(cache, "work-"));
  try {
    execFileSync("tar", ["-x", "-C", work], { input: archive });
    const built = path.join(work, "bundle.mjs");
    await build({
      absWorkingDir: work,
      stdin: { contents: entry, resolveDir: work },
      outfile: built,
      bundle: true,
      packages: "external",
      platform: "node",
      target: "node26",
      format: "esm",
      keepNames: true, // logs have names of classes
      logLevel: "error",
    });
    renameSync(built, outfile);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
