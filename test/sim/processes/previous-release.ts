/**
 * The release before this one (test/support/previous-release.ts), for worlds that are upgraded while they run, with the
 * libraries of today. Bundled once, and kept in node_modules/.cache: Node loads no TypeScript from there.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { previousCommit, unpackPreviousRelease } from "../../support/previous-release.ts";
import { type Release } from "./release.ts";

const root = path.join(import.meta.dirname, "..", "..", "..");
const cache = path.join(root, "node_modules", ".cache", "previous-release");

/** The parts of the release, as release.ts has them. */
const entry = `
  import { createAggregator } from "./src/roles/aggregator.ts";
  import { createGenerator } from "./src/roles/generator.ts";
  import { createWebhook } from "./src/roles/webhook.ts";
  export { loadConfig } from "./src/config/index.ts";
  export { createClients } from "./src/roles/runtime.ts";
  export const roles = { generator: createGenerator, aggregator: createAggregator, webhook: createWebhook };
  export const unknownFlags = ["--silent-cell-after"];
`;

export type PreviousRelease =
  | { readonly isThere: true; readonly release: Release }
  | { readonly isThere: false; readonly why: string };

let loading: Promise<PreviousRelease> | undefined;

/** Loads it once for each thread. Rejects when the sources are there, but cannot be bundled or loaded. */
export function previousRelease(): Promise<PreviousRelease> {
  loading ??= load();
  return loading;
}

async function load(): Promise<PreviousRelease> {
  const file = path.join(cache, `${previousCommit}-${digestOf(entry)}.mjs`);
  if (!existsSync(file)) {
    const missing = await bundle(file);
    if (missing !== undefined) return { isThere: false, why: missing };
  }
  // Its contracts towards main.ts are those of today, but for members that came later, which it does not read.
  return { isThere: true, release: (await import(pathToFileURL(file).href)) as Release };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/**
 * Returns why there is nothing to bundle. Threads and processes may do the same at the same time: the last one wins,
 * with the same text.
 */
async function bundle(outfile: string): Promise<string | undefined> {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(path.join(cache, "work-"));
  try {
    const { missing } = unpackPreviousRelease(work);
    if (missing !== undefined) return missing;
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
    return undefined;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
